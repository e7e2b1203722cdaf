"""Attempts to get out of a wall from the shell of the real Claude Code, with a daemon of root and of another user."""

import os
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.agents import stage
from tests.isolation.attempts import ATTEMPTS
from tests.isolation.walled_daemon import USERS, WalledDaemon, interpreter_for, opened_folder, running
from tests.scripted.messages_replies import call
from tests.scripted.messages_server import MessagesServer
from tests.waiting import wait_until

from everyagent.agents.claude import program
from everyagent.runtime.wall_probe import unavailable_reason

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=f"no walls here: {unavailable_reason()}")


@pytest.fixture(scope="module")
def folder() -> Generator[Path]:
    with opened_folder() as opened:
        yield opened


@pytest.fixture(scope="module")
def claude(folder: Path) -> str:
    """Claude Code where every user may run it."""
    ours = stage.tested_binary("claude", program.BINARY_VARIABLE, program.pinned(), program.TESTED_VERSION)
    try:
        os.link(Path(ours).resolve(), folder / "claude")
    except OSError:
        shutil.copy(ours, folder / "claude")
    return str(folder / "claude")


@pytest.fixture(scope="module", params=USERS)
def daemon(request: pytest.FixtureRequest, folder: Path, claude: str) -> Generator[WalledDaemon]:
    user = USERS[request.param]
    if not interpreter_for(user)[0]:
        pytest.skip("there is no Python that this user may run")
    with WalledDaemon(folder / request.param, user, **{program.BINARY_VARIABLE: claude}).running() as running_daemon:
        yield running_daemon


class ClaudeShell:
    """Sessions of Claude Code whose model calls Bash."""

    def __init__(self, daemon: WalledDaemon, model: MessagesServer) -> None:
        self._daemon, self._model = daemon, model
        home = daemon.base / "work" / "home"
        home.mkdir(exist_ok=True)
        os.chown(home, daemon.user, daemon.user)
        variables = {
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        self.fields: dict[str, object] = {"agent": "claude", "permissionMode": "bypass", "env": variables}

    def run(self, session: str, command: str) -> str:
        self._model.script.add(call("Bash", {"command": command, "description": "try"}, when="Try this"))
        return self._daemon.result(session, "Try this")


@pytest.fixture(scope="module")
def shell(daemon: WalledDaemon) -> Generator[ClaudeShell]:
    with MessagesServer() as model:
        yield ClaudeShell(daemon, model)


def test_no_attempt_in_the_shell_of_claude_code_gets_out(daemon: WalledDaemon, shell: ClaudeShell) -> None:
    found = daemon.attempts(daemon.base / "work", names=(), shell=shell.run, **shell.fields)
    assert found.keys() == ATTEMPTS.keys()
    assert len(found) >= 60
    assert {name: how for name, how in found.items() if how is not None} == {}
    daemon.untouched()


def test_without_a_wall_attempts_of_claude_code_succeed(daemon: WalledDaemon, shell: ClaudeShell) -> None:
    """So the attempts are able to succeed."""
    names = ("read_the_token", "read_the_vault_key", "read_another_session", "see_the_daemon", "read_through_dots")
    found = daemon.attempts(daemon.base / "work", names, shell.run, **shell.fields, isolation="none")
    assert {name for name, how in found.items() if how is None} == set()


def test_a_daemonised_child_of_claude_code_ends_with_its_session(daemon: WalledDaemon, shell: ClaudeShell) -> None:
    mark = f"everyagent-leftover-of-claude-{os.getpid()}-{daemon.user}"
    session = daemon.session(daemon.base / "work", **shell.fields)
    shell.run(session, f"(env -i setsid sh -c '(sleep 600; : {mark}) &' &) ; echo started")
    wait_until(lambda: bool(running(mark)), "the child runs")
    assert daemon.call("POST", f"/sessions/{session}/terminate").is_success
    wait_until(lambda: not running(mark), "the child has ended")
