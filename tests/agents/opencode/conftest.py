import os
from collections.abc import Generator
from pathlib import Path

import pytest
from opencode_stage import OpencodeSession, opencode_binary, ripgrep_folder
from tests.agents.stage import daemon_of
from tests.scripted.chat_server import ChatServer

from everyagent.agents.opencode import program
from everyagent.testing.daemon import DaemonProcess


@pytest.fixture(scope="session")
def opencode_program() -> str:
    return opencode_binary()


@pytest.fixture(scope="session")
def surroundings(opencode_program: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of a daemon: its own home is empty, so that asking for models touches nobody's OpenCode."""
    home = tmp_path_factory.mktemp("home")
    folders = {f"XDG_{name.upper()}_HOME": str(home / name) for name in ("config", "data", "state", "cache")}
    path = f"{os.environ['PATH']}:{ripgrep_folder()}"
    return {program.BINARY_VARIABLE: opencode_program, "HOME": str(home), "PATH": path, **folders}


@pytest.fixture(scope="session")
def opencode_daemon(surroundings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    with daemon_of(tmp_path_factory.mktemp("daemon"), **surroundings) as running:
        yield running


@pytest.fixture(scope="session")
def chat() -> Generator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture(scope="session")
def inhabited(
    opencode_daemon: DaemonProcess, chat: ChatServer, tmp_path_factory: pytest.TempPathFactory
) -> Generator[OpencodeSession]:
    """A session that stays, and with it the server that most tests share: to start one for each takes too long."""
    with OpencodeSession(opencode_daemon, chat, tmp_path_factory.mktemp("shared")).played() as anchor:
        anchor.create().turn("Stay")
        yield anchor


@pytest.fixture
def scripted(chat: ChatServer) -> Generator[ChatServer]:
    """Of what was scripted for the last test, nothing is left."""
    chat.script.forget()
    yield chat
    chat.script.release_all()


@pytest.fixture
def session(inhabited: OpencodeSession, scripted: ChatServer) -> Generator[OpencodeSession]:
    """Not created yet, on the shared server."""
    with inhabited.another().played() as staged:
        yield staged


@pytest.fixture
def alone(opencode_daemon: DaemonProcess, scripted: ChatServer, tmp_path: Path) -> Generator[OpencodeSession]:
    """Not created yet, with a server of its own, for tests that end or stop it."""
    with OpencodeSession(opencode_daemon, scripted, tmp_path).played() as staged:
        yield staged
