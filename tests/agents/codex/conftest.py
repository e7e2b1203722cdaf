from collections.abc import Generator
from pathlib import Path

import pytest
from codex_stage import CodexSession, codex_binary

from everyagent.agents.codex import program
from everyagent.testing.daemon import DaemonProcess
from everyagent.testing.responses_server import ResponsesServer


@pytest.fixture(scope="session")
def codex_program() -> str:
    return codex_binary()


@pytest.fixture(scope="session")
def codex_daemon(codex_program: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    """Its own home is empty, so that asking for models touches nobody's Codex."""
    folder = tmp_path_factory.mktemp("daemon")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(program.BINARY_VARIABLE, codex_program)
        patch.setenv("CODEX_HOME", str(folder / "codex"))
        (folder / "codex").mkdir()
        running = DaemonProcess(folder / "data")
        running.start()
        yield running
        assert running.stop() == 0


@pytest.fixture
def scripted() -> Generator[ResponsesServer]:
    with ResponsesServer() as server:
        yield server


@pytest.fixture
def session(codex_daemon: DaemonProcess, scripted: ResponsesServer, tmp_path: Path) -> Generator[CodexSession]:
    """Not created yet. Whatever the test did, the order rules hold over it, and the agent is gone afterwards."""
    staged = CodexSession(codex_daemon, scripted, tmp_path)
    yield staged
    scripted.script.release_all()
    assert staged.violations() == []
    staged.terminate()
