import subprocess
import sys
from collections.abc import Generator

import pytest

from everyagent.testing.daemon import DaemonProcess


def rebuilt(daemon: DaemonProcess) -> bool:
    """Whether all projections of a stopped daemon equal their rebuilt ones."""
    command = [sys.executable, "-m", "everyagent", "managed", "rebuild", "--check", "--data-dir", str(daemon.data_dir)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stdout + done.stderr)
    return done.returncode == 0


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    running = DaemonProcess(tmp_path_factory.mktemp("managed") / "data", "--default-agent", "mock")
    running.start()
    yield running
    assert running.stop() == 0
    assert rebuilt(running), "every managed session is what its events and frames give"
