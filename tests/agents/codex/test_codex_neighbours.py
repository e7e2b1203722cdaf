"""Who else is on the machine: MCP servers that Codex starts, a second daemon with the same home, no network."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from codex_stage import CodexSession
from tests.agents.offline import needs_isolation, pass_without_network
from tests.agents.stage import daemon_of
from tests.scripted.responses_replies import say
from tests.scripted.responses_server import ResponsesServer

from everyagent.agents.codex import program
from everyagent.agents.codex.driver import encode
from everyagent.agents.codex.protocol import rpc

HERE = Path(__file__).parent
OFFLINE = (
    "test_codex_turns.py::test_words_are_streamed_and_counted",
    "test_codex_turns.py::test_a_command_is_a_call_and_its_result",
    "test_codex_asks.py::test_a_command_runs_once_it_is_permitted",
    "test_codex_asks.py::test_a_patch_is_asked_for_with_its_diff",
    "test_codex_asks.py::test_a_question_is_answered",
    "test_codex_features.py::test_items_of_a_sub_agent_belong_to_the_call_that_made_it",
    "test_codex_life.py::test_a_killed_app_server_is_reported_and_the_session_resumes_with_its_memory",
)


# -- MCP servers ----------------------------------------------------------------------------------------------------


def server(session: CodexSession, *words: str) -> list[str]:
    """The command of one that is this test's alone."""
    return [sys.executable, str(HERE / "notes_mcp_server.py"), str(session.home), *words]


def runs(command: list[str]) -> bool:
    """Codex gives an MCP server an environment of its own, so it is known by its arguments alone."""
    return subprocess.run(["pgrep", "-f", " ".join(command[1:])], capture_output=True, check=False).returncode == 0


def test_a_terminated_session_takes_its_mcp_servers(session: CodexSession) -> None:
    session.model.script.add(say("Hello."), say("Hello."))
    session.create().turn("Hello")
    command = server(session)
    other = session.another().create(mcp={"notes": {"type": "local", "command": command}})
    other.turn("Hello")
    assert runs(command)
    other.terminate()
    assert not runs(command)
    assert session.app_server()


@pytest.mark.parametrize("how", ["terminate", "kill the app-server", "kill the daemon"])
def test_an_mcp_server_that_does_not_want_to_end_ends(session: CodexSession, how: str) -> None:
    command = server(session, "stubborn")
    session.model.script.add(say("Hello."), say("Hello again."))
    session.create(mcp={"notes": {"type": "local", "command": command}}).turn("Hello")
    assert runs(command)
    end(session, how)
    session.until(lambda: not runs(command))
    if how != "terminate":
        assert session.turn("Hello again").stop_reason == "end_turn"
        assert runs(command)


@pytest.mark.parametrize("how", ["terminate", "kill the app-server", "kill the daemon"])
def test_an_mcp_server_of_the_users_own_configuration_ends_too(session: CodexSession, how: str) -> None:
    command = server(session, "stubborn")
    arguments = ", ".join(f'"{word}"' for word in command[1:])
    table = f'[mcp_servers.mine]\ncommand = "{command[0]}"\nargs = [{arguments}]\nenv = {{ COLOUR = "blue" }}\n'
    session.configure(table)
    session.model.script.add(say("Hello."))
    session.create(env={"SHOWN_BEHIND_THE_WALL": command[1]}).turn("Hello")
    assert runs(command)
    end(session, how)
    session.until(lambda: not runs(command))


def end(session: CodexSession, how: str) -> None:
    match how:
        case "terminate":
            session.terminate()
        case "kill the app-server":
            os.kill(session.app_server(), signal.SIGKILL)
            session.until(session.errors)
        case _:
            session.daemon.kill()
            session.daemon.start()


# -- another daemon, another Codex ----------------------------------------------------------------------------------


def test_a_thread_that_another_codex_holds_is_a_clear_error(session: CodexSession, codex_program: str) -> None:
    session.model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    os.kill(session.app_server(), signal.SIGKILL)
    session.until(session.errors)
    with holding(session, codex_program):
        assert session.turn("Which number?").stop_reason == "error"
        assert "Another process" in session.errors()[-1].message
    assert session.turn("And now?").stop_reason == "end_turn"


@contextmanager
def holding(session: CodexSession, binary: str) -> Generator[None]:
    """Another Codex on the same home, with the session's thread loaded."""
    pipe = subprocess.PIPE
    environment = {**session.environment(), "PATH": os.environ["PATH"]}
    resume = {"threadId": session.info()["nativeSessionId"], "excludeTurns": True}
    with subprocess.Popen([binary, "app-server"], stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as other:
        assert other.stdin
        assert other.stdout
        other.stdin.write(rpc.request(1, "initialize", encode.initialize("1")) + rpc.notification("initialized"))
        other.stdin.write(rpc.request(2, "thread/resume", resume))
        other.stdin.flush()
        for line in other.stdout:
            if b'"id":2' in line:
                assert b'"error"' not in line
                break
        yield
        other.stdin.close()


def test_two_daemons_get_along_in_one_home_until_both_want_one_thread(
    scripted: ResponsesServer, codex_program: str, tmp_path: Path
) -> None:
    """The second daemon has a copy of the first one's data, as after a restored backup."""
    environment = {program.BINARY_VARIABLE: codex_program, "CODEX_HOME": str(tmp_path / "home")}
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    scripted.script.add(say("Noted.", when="Remember"), *(say("Seven.", when="Which") for _ in range(2)))
    with daemon_of(tmp_path / "one", **environment) as daemon:
        session = CodexSession(daemon, scripted, tmp_path).create()
        session.turn("Remember seven")
    shutil.copytree(tmp_path / "one" / "data", tmp_path / "two" / "data")
    with daemon_of(tmp_path / "one", **environment) as one, daemon_of(tmp_path / "two", **environment) as two:
        first, second = (CodexSession(daemon, scripted, tmp_path) for daemon in (one, two))
        first.id = second.id = session.id
        assert first.turn("Which number?").stop_reason == "end_turn"
        assert second.turn("Which number?").stop_reason == "error"
        assert "Another process" in second.errors()[-1].message
        assert "CODEX_HOME" in second.errors()[-1].message
        fresh = CodexSession(two, scripted, tmp_path).create()
        scripted.script.add(say("Hello.", when="Hello"))
        assert fresh.turn("Hello").stop_reason == "end_turn"
        first.terminate()
        assert second.turn("Which number?").stop_reason == "end_turn"
        for each in (second, fresh):
            assert each.violations() == []


# -- nobody ---------------------------------------------------------------------------------------------------------


@needs_isolation
def test_turns_tools_asks_and_resuming_need_no_network(codex_program: str, tmp_path: Path) -> None:
    assert codex_program
    pass_without_network([str(HERE / test) for test in OFFLINE], tmp_path)
