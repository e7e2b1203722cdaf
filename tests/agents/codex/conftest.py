from collections.abc import Generator
from pathlib import Path

import pytest
from codex_stage import CodexSession, codex_binary
from tests.agents.stage import daemon_of
from tests.scripted.responses_server import ResponsesServer

from everyagent.agents.codex import program
from everyagent.testing.daemon import DaemonProcess


@pytest.fixture(scope="session")
def codex_program() -> str:
    return codex_binary()


@pytest.fixture(scope="session")
def codex_daemon(codex_program: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    """Its own home is empty, so that asking for models touches nobody's Codex."""
    folder = tmp_path_factory.mktemp("daemon")
    (folder / "codex").mkdir()
    environment = {program.BINARY_VARIABLE: codex_program, "CODEX_HOME": str(folder / "codex")}
    with daemon_of(folder, **environment) as running:
        yield running


@pytest.fixture
def scripted() -> Generator[ResponsesServer]:
    with ResponsesServer() as server:
        yield server


@pytest.fixture
def session(codex_daemon: DaemonProcess, scripted: ResponsesServer, tmp_path: Path) -> Generator[CodexSession]:
    """Not created yet."""
    with CodexSession(codex_daemon, scripted, tmp_path).played() as staged:
        yield staged
