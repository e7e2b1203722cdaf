"""Interrupts, steering, crashes and resuming of the real Claude Code."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from claude_stage import ClaudeSession
from tests.agents.stage import daemon_of
from tests.pausing import pause
from tests.scripted.messages_replies import call, say
from tests.scripted.messages_server import MessagesServer

from everyagent.agents.claude import program
from everyagent.model.events import Error, PermissionRequested, PermissionResolved, TurnEnded
from everyagent.testing.daemon import DaemonProcess

SLEEP = {"command": "python3 -c 'import time; time.sleep(50)'", "description": "sleep"}
LONG = "word " * 40


def agent_pid(session: ClaudeSession) -> int:
    return session.agents()[0]


def test_an_interrupt_stops_the_output_and_keeps_the_session(session: ClaudeSession) -> None:
    session.model.script.add(say(LONG, held=8), say("Still here."))
    session.create().send("Talk long")
    session.until_output("word")
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    pid = agent_pid(session)
    assert session.turn("Are you there?").stop_reason == "end_turn"
    assert session.replies()[-1] == "Still here."
    assert agent_pid(session) == pid


def test_an_interrupt_stops_a_tool(session: ClaudeSession) -> None:
    session.model.script.add(call("Bash", SLEEP))
    session.create(permissionMode="bypass").send("Sleep")
    session.until(lambda: session.items("tool_call"))
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert [item.status for item in session.items("tool_result")] in (["failed"], [])


def test_an_interrupt_resolves_a_pending_permission(session: ClaudeSession) -> None:
    session.model.script.add(call("Bash", {"command": "touch x", "description": "x"}))
    session.create().send("Touch it")
    session.next(PermissionRequested)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.next(PermissionResolved).status == "denied"


def test_an_interrupt_before_any_output_ends_the_turn(session: ClaudeSession) -> None:
    session.model.script.add(say(LONG, when="Talk about it", held=0), say("Back."))
    session.create().send("Talk about it")
    session.until(lambda: session.model.requests or None)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Again").stop_reason == "end_turn"


def test_a_message_steered_into_a_turn_reaches_the_model(session: ClaudeSession) -> None:
    session.model.script.add(
        call("Bash", {"command": "python3 -c 'import time; time.sleep(3)'", "description": "work"}),
        say("Blue it is.", when="Make it blue"),
    )
    session.create(permissionMode="bypass").send("Paint it")
    session.until(lambda: session.items("tool_call"))
    session.send("Make it blue", delivery="steer")
    session.until(lambda: session.replies() == ["Blue it is."])
    assert len(session.all(TurnEnded)) <= 1


def test_a_message_steered_into_a_text_reply_is_answered_after_it(session: ClaudeSession) -> None:
    reply = say(LONG, held=4)
    session.model.script.add(reply, say("Blue it is.", when="Make it blue"))
    session.create().send("Talk")
    session.until_output("word")
    session.send("Make it blue", delivery="steer")
    reply.release.set()
    session.until(lambda: session.replies() == [LONG, "Blue it is."])


def test_a_queued_message_waits_for_its_turn(session: ClaudeSession) -> None:
    reply = say(LONG, held=4)
    session.model.script.add(reply, say("Second."))
    session.create().send("First")
    session.until_output("word")
    session.send("Second")
    reply.release.set()
    session.next(TurnEnded, 2)
    assert session.replies() == [LONG, "Second."]


def test_a_killed_agent_is_reported_and_the_session_resumes(session: ClaudeSession) -> None:
    session.model.script.add(say("Noted."), say(LONG, held=4), say("It was seven."))
    session.create().turn("Remember seven")
    session.send("Talk long")
    session.until_output("word")
    os.kill(agent_pid(session), signal.SIGKILL)
    ended = session.next(TurnEnded, 2)
    assert ended.stop_reason == "error"
    assert session.all(Error)[-1].code == "agent_crashed"
    native = session.info()["nativeSessionId"]
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert session.info()["nativeSessionId"] == native
    assert "Remember seven" in str(session.model.requests[-1].messages)


def test_a_session_continues_from_its_transcript_if_the_native_session_is_gone(
    session: ClaudeSession, daemon: DaemonProcess
) -> None:
    session.model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    native = session.info()["nativeSessionId"]
    assert daemon.stop() == 0
    for transcript in session.home.rglob("*.jsonl"):
        transcript.unlink()
    daemon.start()
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert [error.details for error in session.all(Error) if error.details] == [{"history_lost": True}]
    assert session.info()["nativeSessionId"] != native
    assert "Remember seven" in str(session.model.requests[-1].messages)
    assert session.replies()[-1] == "It was seven."


def test_the_session_resumes_after_the_daemon_is_killed(session: ClaudeSession, daemon: DaemonProcess) -> None:
    session.model.script.add(say("Noted."), say(LONG, held=4), say("It was seven."))
    session.create().turn("Remember seven")
    session.send("Talk long")
    session.until_output("word")
    pid = agent_pid(session)
    daemon.kill()
    daemon.start()
    session.until(lambda: pid not in session.agents())
    assert session.next(TurnEnded, 2).stop_reason == "error"
    session.turn("Which number?")
    assert session.replies()[-1] == "It was seven."
    assert "Remember seven" in str(session.model.requests[-1].messages)


def test_the_process_is_killed_if_the_turn_does_not_stop(session: ClaudeSession) -> None:
    session.model.script.add(say("Noted."), say(LONG, held=4), say("It was seven."))
    session.create().turn("Remember seven")
    session.send("Talk long")
    session.until_output("word")
    pause(agent_pid(session))
    session.cancel()
    assert session.next(TurnEnded, 2).stop_reason == "interrupted"
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert "Remember seven" in str(session.model.requests[-1].messages)


@pytest.fixture
def short_idle_daemon(binary: str, tmp_path: Path) -> Generator[DaemonProcess]:
    """A daemon that hibernates idle sessions after half a second."""
    with daemon_of(tmp_path, "--idle-timeout", "0.5", **{program.BINARY_VARIABLE: binary}) as running:
        yield running


def test_an_idle_session_hibernates_and_resumes_its_conversation(
    short_idle_daemon: DaemonProcess, model: MessagesServer, tmp_path: Path
) -> None:
    session = ClaudeSession(short_idle_daemon, model, tmp_path)
    model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    session.until(lambda: session.info()["status"] == "hibernated")
    session.until(lambda: not session.agents())
    session.turn("Which number?")
    assert "Remember seven" in str(model.requests[-1].messages)
    assert session.violations() == []


def test_a_fork_gets_the_conversation_before_it(session: ClaudeSession) -> None:
    session.model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    fork = session.call("POST", f"/sessions/{session.id}/fork", {}).json()["sessionId"]
    session.terminate()
    session.id = fork
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert "Remember seven" in str(session.model.requests[-1].messages)


def test_no_secret_of_the_session_is_in_its_log(session: ClaudeSession) -> None:
    session.model.script.add(say("Hello."))
    session.create().turn("Hello")
    frames = session.call("GET", f"/sessions/{session.id}/frames?limit=1000").text
    assert "sk-ant-not-a-key" not in frames + "".join(body.decode() for body in session.bodies())


def test_terminate_leaves_no_process(session: ClaudeSession) -> None:
    session.model.script.add(call("Bash", SLEEP))
    session.create(permissionMode="bypass").send("Sleep")
    session.until(lambda: session.items("tool_call"))
    assert session.agents()
    session.terminate()
    assert session.agents() == []
