from collections.abc import Generator
from pathlib import Path

import pytest
from claude_stage import ClaudeSession, claude_binary

from everyagent.agents.claude import program
from everyagent.testing.daemon import DaemonProcess
from everyagent.testing.messages_server import MessagesServer


@pytest.fixture(scope="session")
def binary() -> str:
    return claude_binary()


@pytest.fixture(scope="session")
def daemon(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(program.BINARY_VARIABLE, binary)
        running = DaemonProcess(tmp_path_factory.mktemp("daemon") / "data")
        running.start()
        yield running
        assert running.stop() == 0


@pytest.fixture
def model() -> Generator[MessagesServer]:
    with MessagesServer() as server:
        yield server


@pytest.fixture
def session(daemon: DaemonProcess, model: MessagesServer, tmp_path: Path) -> Generator[ClaudeSession]:
    """Not created yet. Whatever the test did, the order rules hold over it, and the agent is gone afterwards."""
    staged = ClaudeSession(daemon, model, tmp_path)
    yield staged
    model.script.release_all()
    assert staged.violations() == []
    staged.call("POST", f"/sessions/{staged.id}/terminate")
