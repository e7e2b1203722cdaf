from collections.abc import Generator

import pytest

from everyagent.testing.daemon import DaemonProcess


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    running = DaemonProcess(tmp_path_factory.mktemp("managed") / "data", "--default-agent", "mock")
    running.start()
    yield running
    assert running.stop() == 0
