from collections.abc import Iterator
from pathlib import Path

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.webhooks.receiver import Receiver, receiving
from tests.webhooks.sending_daemon import FLAGS, SendingDaemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SendingDaemon]:
    """Sends webhooks to this machine, and pauses those that failed for a second."""
    folder = tmp_path_factory.mktemp("sending")
    process = DaemonProcess(folder / "data", *FLAGS, "--webhook-pause-after", "1")
    process.start()
    yield SendingDaemon(process, folder)
    process.stop()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
