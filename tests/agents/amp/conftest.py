from collections.abc import Generator
from pathlib import Path

import pytest
from amp_stage import AmpSession, amp_binary
from tests.agents.stage import daemon_of
from tests.scripted.amp_server import AmpServer

from everyagent.agents.amp import program
from everyagent.testing.daemon import DaemonProcess


@pytest.fixture(scope="session")
def binary() -> str:
    return amp_binary()


@pytest.fixture(scope="session")
def daemon(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    with daemon_of(tmp_path_factory.mktemp("daemon"), **{program.BINARY_VARIABLE: binary}) as running:
        yield running


@pytest.fixture
def model() -> Generator[AmpServer]:
    with AmpServer() as server:
        yield server


@pytest.fixture
def session(daemon: DaemonProcess, model: AmpServer, tmp_path: Path) -> Generator[AmpSession]:
    """A session that the test creates."""
    with AmpSession(daemon, model, tmp_path).played() as staged:
        yield staged
