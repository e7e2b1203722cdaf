"""The life of sessions with the real program: interrupts, steering, resuming, dying, sharing a server."""

import os
import shutil
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from opencode_stage import OpencodeSession
from tests.agents.stage import daemon_of
from tests.pausing import pause
from tests.scripted.chat_replies import call, fail, run, say
from tests.scripted.chat_server import ChatServer

from everyagent.agents.opencode.driver.snapshot import PAGE
from everyagent.model.events import (
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionEnded,
    TurnEnded,
)

LONG = "word " * 40 + "end"
SLEEP = "python3 -c 'import time; time.sleep(50)'"
QUESTION = {"question": "Which?", "header": "Q", "options": [{"label": "A", "description": "a"}]}


def sleepers(session: OpencodeSession) -> list[int]:
    return session.processes("time.sleep(50)")


# -- interrupts -------------------------------------------------------------------------------------------------


def test_an_interrupt_stops_the_output_and_keeps_the_session(session: OpencodeSession) -> None:
    session.model.script.add(say(LONG, when="Talk long", held=8), say("Still here."))
    session.create().send("Talk long")
    session.until_output("word")
    pid = session.server()
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Are you there?").stop_reason == "end_turn"
    assert session.replies()[-1] == "Still here."
    assert session.server() == pid
    assert session.errors() == []


def test_an_interrupt_before_any_output_ends_the_turn(session: OpencodeSession) -> None:
    session.model.script.add(say(LONG, when="Talk about it", held=0), say("Back."))
    session.create().send("Talk about it")
    session.until(lambda: session.model.requests)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Again").stop_reason == "end_turn"


def test_an_interrupt_at_once_ends_the_turn(session: OpencodeSession) -> None:
    session.model.script.add(say("Back.", when="Again"), say(LONG, when="Talk about it", held=0))
    session.create().send("Talk about it")
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Again").stop_reason == "end_turn"


def test_an_interrupt_stops_a_command_for_good(session: OpencodeSession) -> None:
    session.model.script.add(run(SLEEP))
    session.create(permissionMode="bypass").send("Sleep")
    session.until(lambda: session.items("tool_call") and sleepers(session))
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert [item.status for item in session.items("tool_result")] == ["failed"]
    session.until(lambda: not sleepers(session))


def test_an_interrupt_resolves_a_pending_permission(session: OpencodeSession) -> None:
    session.model.script.add(run("touch x"), say("Back."))
    session.create().send("Touch it")
    asked = session.next(PermissionRequested)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.next(PermissionResolved).status == "denied"
    session.call(
        "POST", f"/sessions/{session.id}/permissions/{asked.permission_id}/reply", {"reply": "once"}, expect=409
    )
    assert session.turn("Again").stop_reason == "end_turn"


def test_an_interrupt_resolves_a_pending_question(session: OpencodeSession) -> None:
    session.model.script.add(call("question", {"questions": [QUESTION]}), say("Back."))
    session.create().send("Ask me")
    session.next(QuestionRequested)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.next(QuestionResolved).status == "rejected"
    assert session.turn("Again").stop_reason == "end_turn"


def test_an_interrupt_while_the_api_is_tried_again_ends_the_turn(session: OpencodeSession) -> None:
    for_ever = fail(500, "server_error", when="Hello", times=99, headers={"retry-after": "30"})
    session.model.script.add(say("Back.", when="Again"), for_ever)
    session.create().send("Hello")
    session.until(session.errors)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Again").stop_reason == "end_turn"


def test_an_interrupt_stops_a_sub_agent(session: OpencodeSession) -> None:
    task = {"description": "Talk", "prompt": "Talk on and on", "subagent_type": "general"}
    session.model.script.add(
        call("task", task, when="Ask a helper"), say(LONG, when="Talk on and on", held=8), say("Back.")
    )
    session.create().send("Ask a helper")
    session.until_output("word")
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Again").stop_reason == "end_turn"


# -- steering and queueing --------------------------------------------------------------------------------------


def test_a_message_steered_into_a_turn_reaches_the_model(session: OpencodeSession) -> None:
    session.model.script.add(run("sleep 3"), say("Blue it is.", when="Make it blue"))
    session.create(permissionMode="bypass").send("Paint it")
    session.until(lambda: session.items("tool_call"))
    session.send("Make it blue", delivery="steer")
    session.next(TurnEnded)
    assert session.replies() == ["Blue it is."]
    assert len(session.all(TurnEnded)) == 1
    assert len([item for item in session.items("message") if item.role == "user"]) == 2


def test_a_queued_message_waits_for_its_turn(session: OpencodeSession) -> None:
    reply = say(LONG, held=4)
    session.model.script.add(reply, say("Second."))
    session.create().send("First")
    session.until_output("word")
    session.send("Second")
    reply.release.set()
    session.next(TurnEnded, 2)
    assert session.replies() == [LONG, "Second."]


# -- death and resuming -----------------------------------------------------------------------------------------


def test_a_killed_server_is_reported_once_in_each_of_its_sessions_and_each_resumes(alone: OpencodeSession) -> None:
    alone.model.script.add(say("Noted."), say("B."), say(LONG, when="Talk long", held=4), say("Seven."), say("Back."))
    alone.create().turn("Remember seven")
    other = alone.another().create()
    other.turn("Hello")
    alone.send("Talk long")
    alone.until_output("word")
    os.kill(alone.server(), signal.SIGKILL)
    assert alone.next(TurnEnded, 2).stop_reason == "error"
    other.until(other.errors)
    assert [error.code for error in (*alone.errors(), *other.errors())] == ["agent_crashed", "agent_crashed"]
    native = alone.info()["nativeSessionId"]
    assert alone.turn("Which number?").stop_reason == "end_turn"
    assert alone.info()["nativeSessionId"] == native
    assert "Remember seven" in alone.model.requests[-1].everything
    assert other.turn("Once again").stop_reason == "end_turn"
    assert alone.server()
    assert other.violations() == []
    other.terminate()


def test_a_killed_server_leaves_no_command_and_no_ask_behind(alone: OpencodeSession) -> None:
    alone.model.script.add(run(SLEEP, when="Sleep"), run("touch x", when="Touch"), say("Back."))
    alone.create().send("Sleep")
    alone.permit(alone.next(PermissionRequested).permission_id, "once")
    other = alone.another().create()
    other.send("Touch")
    other.next(PermissionRequested)
    alone.until(lambda: sleepers(alone))
    os.kill(alone.server(), signal.SIGKILL)
    assert alone.next(TurnEnded).stop_reason == "error"
    assert other.next(PermissionResolved).status == "denied"
    assert other.next(TurnEnded).stop_reason == "error"
    alone.until(lambda: not sleepers(alone))
    assert alone.turn("Go on").stop_reason == "end_turn"
    assert other.violations() == []
    other.terminate()


def test_the_session_resumes_after_the_daemon_is_killed(
    surroundings: dict[str, str], scripted: ChatServer, tmp_path: Path
) -> None:
    scripted.script.add(say("Noted."), say(LONG, when="Talk long", held=4), say("It was seven."))
    with daemon_of(tmp_path, **surroundings) as daemon:
        session = OpencodeSession(daemon, scripted, tmp_path)
        session.create().turn("Remember seven")
        session.send("Talk long")
        session.until_output("word")
        daemon.kill()
        daemon.start()
        assert session.next(TurnEnded, 2).stop_reason == "error"
        session.until(lambda: len(session.processes("serve")) == 0)
        assert session.turn("Which number?").stop_reason == "end_turn"
        assert "Remember seven" in scripted.requests[-1].everything
        assert session.violations() == []


def test_idle_sessions_let_the_server_go_and_a_lost_history_is_replaced(
    surroundings: dict[str, str], scripted: ChatServer, tmp_path: Path
) -> None:
    scripted.script.add(say("Noted."), say("It was seven."), say("Still seven."))
    with daemon_of(tmp_path, "--idle-timeout", "1", **surroundings) as daemon:
        session = OpencodeSession(daemon, scripted, tmp_path)
        session.create().turn("Remember seven")
        session.until(lambda: session.info()["status"] == "hibernated" and not session.processes("serve"))
        session.turn("Which number?")
        assert "Remember seven" in scripted.requests[-1].everything
        native = session.info()["nativeSessionId"]
        session.until(lambda: session.info()["status"] == "hibernated" and not session.processes("serve"))
        shutil.rmtree(session.home / "data")
        assert session.turn("And now?").stop_reason == "end_turn"
        assert [error.details for error in session.errors()] == [{"history_lost": True}]
        assert session.info()["nativeSessionId"] != native
        assert "Remember seven" in scripted.requests[-1].everything
        assert session.violations() == []


# -- a stream that is lost ----------------------------------------------------------------------------------------


@pytest.fixture
def cut_off(surroundings: dict[str, str], scripted: ChatServer, tmp_path: Path) -> Generator[OpencodeSession]:
    """A session whose event stream the test can cut and mend."""
    program = Path(__file__).with_name("cutting_opencode.py")
    wrapper = tmp_path / "opencode"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
    wrapper.chmod(0o755)
    real = surroundings["EVERYAGENT_OPENCODE_BIN"]
    with daemon_of(
        tmp_path,
        "--isolation",  # the program of these sessions is a test's, which is not there behind a wall
        "none",
        **{**surroundings, "EVERYAGENT_OPENCODE_BIN": str(wrapper), "REAL_OPENCODE": real},
    ) as daemon:
        session = OpencodeSession(daemon, scripted, tmp_path)
        yield session.create(env={"REAL_OPENCODE": real})
        scripted.script.release_all()
        assert session.violations() == []


def wire(session: OpencodeSession, number: signal.Signals) -> None:
    (pid,) = session.processes("cutting_opencode.py")
    os.kill(pid, number)


def test_text_sent_while_the_stream_was_lost_is_reported_once(cut_off: OpencodeSession) -> None:
    session, reply = cut_off, say("one two three four five six seven eight nine ten", held=2)
    session.model.script.add(reply, say("Next."))
    session.send("Count")
    session.until_output("one")
    wire(session, signal.SIGUSR1)
    reply.release.set()
    session.until(lambda: "nine ten" in str(session.native(f"/session/{session.info()['nativeSessionId']}/message")))
    wire(session, signal.SIGUSR2)
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert session.replies() == ["one two three four five six seven eight nine ten"]
    assert session.turn("Go on").stop_reason == "end_turn"
    assert session.errors() == []


def test_a_permission_asked_while_the_stream_was_lost_is_asked(cut_off: OpencodeSession) -> None:
    session, reply = cut_off, run("echo while-away", text="Let me see, and run it.")
    reply.held = 1
    session.model.script.add(reply, say("Ran."))
    session.send("Run it")
    session.until_output("Let me")
    wire(session, signal.SIGUSR1)
    reply.release.set()
    session.until(lambda: session.native("/permission"))
    wire(session, signal.SIGUSR2)
    session.permit(session.next(PermissionRequested).permission_id, "once")
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert session.replies() == ["Let me see, and run it.", "Ran."]
    assert len(session.all(PermissionRequested)) == 1
    assert len(session.items("tool_call")) == len(session.items("tool_result")) == 1


def test_a_turn_that_ended_while_the_stream_was_lost_ends_once(cut_off: OpencodeSession) -> None:
    session, reply = cut_off, run("echo while-away")
    session.model.script.add(reply, say("All done."), say("Next."))
    session.change(permissionMode="default")
    session.send("Run it")
    asked = session.next(PermissionRequested)
    wire(session, signal.SIGUSR1)
    session.permit(asked.permission_id, "once")
    session.until(lambda: "All done." in str(session.native(f"/session/{session.info()['nativeSessionId']}/message")))
    wire(session, signal.SIGUSR2)
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert session.replies() == ["All done."]
    assert session.turn("Go on").stop_reason == "end_turn"
    assert len(session.all(TurnEnded)) == 2


def test_a_reply_beyond_the_first_page_of_messages_is_found(cut_off: OpencodeSession) -> None:
    session, reply = cut_off, say("one two three four", held=2)
    session.model.script.add(reply, say("That was all."), say("Next."))
    session.send("Count")
    session.until_output("one")
    messages = f"/session/{session.info()['nativeSessionId']}/message"
    for number in range(PAGE + 1):
        session.native(messages, {"noReply": True, "parts": [{"type": "text", "text": f"aside {number}"}]})
    wire(session, signal.SIGUSR1)
    reply.release.set()
    session.until(lambda: "That was all." in str(session.native(messages)))
    wire(session, signal.SIGUSR2)
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert session.replies() == ["one two three four", "That was all."]
    assert session.turn("Go on").stop_reason == "end_turn"
    assert session.errors() == []


# -- sharing ----------------------------------------------------------------------------------------------------


def test_ten_sessions_at_once_share_one_server(session: OpencodeSession) -> None:
    names = [f"number-{number:02}" for number in range(10)]
    session.model.script.add(*(say(f"I am {name}. {LONG}", when=name) for name in names))
    session.create()
    others = [session.another().create() for _ in names[1:]]
    everyone = [session, *others]
    for each, name in zip(everyone, names, strict=True):
        each.send(f"You are {name}")
    for each, name in zip(everyone, names, strict=True):
        assert each.next(TurnEnded).stop_reason == "end_turn"
        assert each.replies() == [f"I am {name}. {LONG}"]
    pid = session.server()
    for other in others:
        assert other.violations() == []
        other.terminate()
    assert session.server() == pid


def test_a_terminated_session_takes_its_commands_and_leaves_the_others(
    session: OpencodeSession, tmp_path: Path
) -> None:
    session.model.script.add(say("Hello."), run(SLEEP, when="Sleep"), say("Still here."))
    session.create().turn("Hello")
    other = session.another(tmp_path / "elsewhere").create(permissionMode="bypass")
    other.send("Sleep")
    other.until(lambda: sleepers(other))
    other.terminate()
    assert other.next(SessionEnded).reason == "terminated"
    assert sleepers(other) == []
    assert session.turn("And you?").stop_reason == "end_turn"


def test_a_server_that_does_not_answer_is_ended_and_reported_to_the_others(alone: OpencodeSession) -> None:
    alone.model.script.add(say("A."), say(LONG, when="Talk long", held=4), say("Back."))
    alone.create().turn("Hello")
    other = alone.another().create()
    other.send("Talk long")
    other.until_output("word")
    pause(alone.server())
    other.terminate()
    alone.until(alone.errors)
    assert alone.errors()[-1].code == "agent_crashed"
    assert alone.turn("Are you there?").stop_reason == "end_turn"


def test_the_last_session_takes_the_server_with_it(alone: OpencodeSession) -> None:
    alone.model.script.add(run(SLEEP))
    alone.create(permissionMode="bypass").send("Sleep")
    alone.until(lambda: sleepers(alone))
    alone.terminate()
    assert alone.processes("serve") == []
    assert sleepers(alone) == []
