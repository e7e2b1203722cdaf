from collections.abc import Generator
from pathlib import Path

import pytest
from claude_stage import ClaudeSession, claude_binary
from tests.agents.stage import daemon_of
from tests.scripted.messages_server import MessagesServer

from everyagent.agents.claude import program
from everyagent.testing.daemon import DaemonProcess


@pytest.fixture(scope="session")
def binary() -> str:
    return claude_binary()


@pytest.fixture(scope="session")
def daemon(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    with daemon_of(tmp_path_factory.mktemp("daemon"), **{program.BINARY_VARIABLE: binary}) as running:
        yield running


@pytest.fixture
def model() -> Generator[MessagesServer]:
    with MessagesServer() as server:
        yield server


@pytest.fixture
def session(daemon: DaemonProcess, model: MessagesServer, tmp_path: Path) -> Generator[ClaudeSession]:
    """A session that the test creates."""
    with ClaudeSession(daemon, model, tmp_path).played() as staged:
        yield staged
