"""The life of sessions with the real program: interrupts, steering, resuming, dying, sharing a process."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from codex_stage import CodexSession
from tests.agents.stage import daemon_of

from everyagent.agents.codex import encode, program, rpc
from everyagent.model.events import (
    Error,
    PermissionRequested,
    PermissionResolved,
    SessionEnded,
    TurnEnded,
)
from everyagent.testing.daemon import DaemonProcess
from everyagent.testing.responses_server import ResponsesServer
from everyagent.testing.scripted_responses import run, say

LONG = "word " * 40
SLEEP = "python3 -c 'import time; time.sleep(50)'"


def sleepers(session: CodexSession) -> list[int]:
    return session.processes("time.sleep(50)")


def running(words: str) -> bool:
    """Codex gives an MCP server an environment of its own, so it is known by its arguments alone."""
    return subprocess.run(["pgrep", "-f", words], capture_output=True, check=False).returncode == 0


# -- interrupts -------------------------------------------------------------------------------------------------


def test_an_interrupt_stops_words_and_keeps_the_session(session: CodexSession) -> None:
    session.model.script.add(say(LONG, held=8), say("Still here."))
    session.create().send("Talk long")
    session.until_heard("word")
    pid = session.app_server()
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Are you there?").stop_reason == "end_turn"
    assert session.replies()[-1] == "Still here."
    assert session.app_server() == pid


def test_an_interrupt_before_the_first_word_ends_the_turn(session: CodexSession) -> None:
    session.model.script.add(say(LONG, when="Talk about it", held=0), say("Back."))
    session.create().send("Talk about it")
    session.until(lambda: session.model.requests)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Again").stop_reason == "end_turn"


def test_an_interrupt_at_once_ends_the_turn(session: CodexSession) -> None:
    session.model.script.add(say("Back.", when="Again"), say(LONG, when="Talk about it", held=0))
    session.create().send("Talk about it")
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Again").stop_reason == "end_turn"


def test_an_interrupt_stops_a_command_for_good(session: CodexSession) -> None:
    session.model.script.add(run(SLEEP))
    session.create(permissionMode="bypass").send("Sleep")
    session.until(lambda: session.items("tool_call") and sleepers(session))
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert [item.status for item in session.items("tool_result")] == ["failed"]
    session.until(lambda: not sleepers(session))


def test_an_interrupt_resolves_a_pending_permission(session: CodexSession) -> None:
    session.model.script.add(run("touch x"))
    session.create().send("Touch it")
    session.next(PermissionRequested)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.next(PermissionResolved).status == "denied"


def test_a_second_interrupt_is_harmless(session: CodexSession) -> None:
    session.model.script.add(say(LONG, held=8), say("Still here."))
    session.create().send("Talk long")
    session.until_heard("word")
    session.cancel()
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Are you there?").stop_reason == "end_turn"


# -- steering and queueing --------------------------------------------------------------------------------------


def test_a_message_steered_into_a_turn_is_heard_in_it(session: CodexSession) -> None:
    session.model.script.add(run("sleep 1"), say("Blue it is.", when="Make it blue"))
    session.create(permissionMode="bypass").send("Paint it")
    session.until(lambda: session.items("tool_call"))
    session.send("Make it blue", delivery="steer")
    session.next(TurnEnded)
    assert session.replies() == ["Blue it is."]
    assert len(session.all(TurnEnded)) == 1
    assert len([item for item in session.items("message") if item.role == "user"]) == 2


def test_a_queued_message_waits_for_its_turn(session: CodexSession) -> None:
    reply = say(LONG, held=4)
    session.model.script.add(reply, say("Second."))
    session.create().send("First")
    session.until_heard("word")
    session.send("Second")
    reply.release.set()
    session.next(TurnEnded, 2)
    assert session.replies() == [LONG, "Second."]


# -- death and resuming -----------------------------------------------------------------------------------------


def test_a_killed_app_server_is_told_and_the_session_resumes_with_its_memory(session: CodexSession) -> None:
    session.model.script.add(say("Noted."), say(LONG, held=4), say("It was seven."))
    session.create().turn("Remember seven")
    session.send("Talk long")
    session.until_heard("word")
    os.kill(session.app_server(), signal.SIGKILL)
    ended = session.next(TurnEnded, 2)
    assert ended.stop_reason == "error"
    assert session.all(Error)[-1].code == "agent_crashed"
    native = session.info()["nativeSessionId"]
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert session.info()["nativeSessionId"] == native
    assert "Remember seven" in session.model.requests[-1].everything


def test_the_death_of_an_app_server_is_told_once_in_each_of_its_sessions(session: CodexSession) -> None:
    session.model.script.add(say("A."), say("B."), say(LONG, when="Talk long", held=4), say("Back.", when="again"))
    session.model.script.add(say("Back.", when="again"))
    session.create().turn("Hello")
    other = session.another().create()
    other.turn("Hello")
    assert session.app_server()
    session.send("Talk long")
    session.until_heard("word")
    os.kill(session.app_server(), signal.SIGKILL)
    assert session.next(TurnEnded, 2).stop_reason == "error"
    other.until(lambda: other.all(Error))
    assert len(session.all(Error)) == len(other.all(Error)) == 1
    assert session.turn("Once again").stop_reason == "end_turn"
    assert other.turn("Once again").stop_reason == "end_turn"
    assert session.app_server()
    assert other.violations() == []
    other.terminate()


def test_a_killed_app_server_leaves_no_command_behind(session: CodexSession) -> None:
    session.model.script.add(run(SLEEP))
    session.create(permissionMode="bypass").send("Sleep")
    session.until(lambda: sleepers(session))
    os.kill(session.app_server(), signal.SIGKILL)
    session.next(TurnEnded)
    session.until(lambda: not sleepers(session))


def test_a_killed_daemon_resumes_the_session_with_its_memory(
    session: CodexSession, codex_daemon: DaemonProcess
) -> None:
    session.model.script.add(say("Noted."), say(LONG, held=4), say("It was seven."))
    session.create().turn("Remember seven")
    session.send("Talk long")
    session.until_heard("word")
    codex_daemon.kill()
    codex_daemon.start()
    assert session.next(TurnEnded, 2).stop_reason == "error"
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert "Remember seven" in session.model.requests[-1].everything


def test_a_permission_that_waits_when_the_app_server_dies_is_resolved(session: CodexSession) -> None:
    session.model.script.add(run("touch x"), say("Then not."))
    session.create().send("Touch it")
    session.next(PermissionRequested)
    os.kill(session.app_server(), signal.SIGKILL)
    assert session.next(PermissionResolved).status == "denied"
    assert session.turn("Go on").stop_reason == "end_turn"


def test_when_the_native_thread_is_gone_the_session_goes_on_from_its_transcript(
    session: CodexSession, codex_daemon: DaemonProcess
) -> None:
    session.model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    native = session.info()["nativeSessionId"]
    assert codex_daemon.stop() == 0
    forget(session.home)
    codex_daemon.start()
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert [error.details for error in session.all(Error) if error.details] == [{"history_lost": True}]
    assert session.info()["nativeSessionId"] != native
    assert "Remember seven" in session.model.requests[-1].everything
    assert session.replies()[-1] == "It was seven."


def forget(home: Path) -> None:
    for rollout in home.rglob("rollout-*"):
        rollout.unlink()
    for database in home.glob("*.sqlite*"):
        database.unlink()


def test_a_thread_that_another_process_holds_is_a_clear_error(session: CodexSession, codex_program: str) -> None:
    session.model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    os.kill(session.app_server(), signal.SIGKILL)
    session.until(lambda: session.all(Error))
    with holding(session, codex_program):
        assert session.turn("Which number?").stop_reason == "error"
        assert "Another process" in session.all(Error)[-1].message
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


def test_idle_sessions_let_the_process_go_and_the_next_message_resumes_them(
    codex_program: str, scripted: ResponsesServer, tmp_path: Path
) -> None:
    environment = {program.BINARY_VARIABLE: codex_program, "CODEX_HOME": str(tmp_path)}
    with daemon_of(tmp_path, "--idle-timeout", "1", **environment) as daemon:
        session = CodexSession(daemon, scripted, tmp_path)
        scripted.script.add(say("Noted."), say("It was seven."))
        session.create().turn("Remember seven")
        session.until(lambda: session.info()["status"] == "hibernated" and not session.processes("app-server"))
        session.turn("Which number?")
        assert "Remember seven" in scripted.requests[-1].everything
        assert session.violations() == []
    assert session.processes("app-server") == []


# -- sharing ----------------------------------------------------------------------------------------------------


def test_twenty_sessions_at_once_share_one_process(session: CodexSession) -> None:
    names = [f"number-{number:02}" for number in range(20)]
    session.model.script.add(*(say(f"I am {name}. {LONG}", when=name) for name in names))
    session.create()
    others = [session.another().create() for _ in names[1:]]
    everyone = [session, *others]
    for each, name in zip(everyone, names, strict=True):
        each.send(f"You are {name}")
    for each, name in zip(everyone, names, strict=True):
        assert each.next(TurnEnded).stop_reason == "end_turn"
        assert each.replies() == [f"I am {name}. {LONG}"]
    pid = session.app_server()
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    assert resident < 250 * 1024
    for other in others:
        assert other.violations() == []
        other.terminate()
    assert session.app_server() == pid


def test_a_terminated_session_takes_its_commands_and_leaves_the_others(session: CodexSession) -> None:
    session.model.script.add(say("Hello."), run(SLEEP, when="Sleep"), say("Still here."))
    session.create().turn("Hello")
    other = session.another().create(permissionMode="bypass")
    other.send("Sleep")
    other.until(lambda: sleepers(other))
    other.terminate()
    assert other.next(SessionEnded).reason == "terminated"
    assert sleepers(other) == []
    assert session.turn("And you?").stop_reason == "end_turn"


def test_a_terminated_session_takes_its_mcp_servers(session: CodexSession) -> None:
    session.model.script.add(say("Hello."), say("Hello."))
    session.create().turn("Hello")
    command = [sys.executable, str(Path(__file__).parent / "notes_mcp_server.py"), str(session.home)]
    other = session.another().create(mcp={"notes": {"type": "local", "command": command}})
    other.turn("Hello")
    assert running(" ".join(command[1:]))
    other.terminate()
    session.until(lambda: not running(" ".join(command[1:])))
    assert session.app_server()


def test_an_app_server_that_does_not_answer_is_ended_and_told_to_the_others(session: CodexSession) -> None:
    session.model.script.add(say("A."), say("B."), say("Back."))
    session.create().turn("Hello")
    other = session.another().create()
    other.turn("Hello")
    os.kill(session.app_server(), signal.SIGSTOP)
    other.terminate()
    session.until(lambda: session.all(Error))
    assert session.all(Error)[-1].code == "agent_crashed"
    assert session.turn("Are you there?").stop_reason == "end_turn"


def test_the_last_session_takes_the_process_with_it(session: CodexSession) -> None:
    session.model.script.add(say("Hello."))
    session.create().turn("Hello")
    assert session.app_server()
    session.terminate()
    assert session.processes("app-server") == []
