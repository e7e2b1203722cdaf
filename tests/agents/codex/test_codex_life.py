"""The life of sessions with the real program: steering, dying, resuming, sharing a process."""

import os
import signal
from pathlib import Path

from codex_stage import CodexSession
from tests.pausing import pause
from tests.scripted.responses_replies import run, say

from everyagent.model.events import (
    Error,
    PermissionRequested,
    PermissionResolved,
    SessionEnded,
    TurnEnded,
)
from everyagent.testing.daemon import DaemonProcess

LONG = "word " * 40
SLEEP = "python3 -c 'import time; time.sleep(50)'"


def sleepers(session: CodexSession) -> list[int]:
    return session.processes("time.sleep(50)")


# -- steering and queueing --------------------------------------------------------------------------------------


def test_a_message_steered_into_a_turn_reaches_the_model(session: CodexSession) -> None:
    session.model.script.add(run("sleep 3"), say("Blue it is.", when="Make it blue"))
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
    session.until_output("word")
    session.send("Second")
    reply.release.set()
    session.next(TurnEnded, 2)
    assert session.replies() == [LONG, "Second."]


# -- death and resuming -----------------------------------------------------------------------------------------


def test_a_killed_app_server_is_reported_and_the_session_resumes_with_its_memory(session: CodexSession) -> None:
    session.model.script.add(say("Noted."), say(LONG, held=4), say("It was seven."))
    session.create().turn("Remember seven")
    session.send("Talk long")
    session.until_output("word")
    os.kill(session.app_server(), signal.SIGKILL)
    ended = session.next(TurnEnded, 2)
    assert ended.stop_reason == "error"
    assert session.all(Error)[-1].code == "agent_crashed"
    native = session.info()["nativeSessionId"]
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert session.info()["nativeSessionId"] == native
    assert "Remember seven" in session.model.requests[-1].everything


def test_the_death_of_an_app_server_is_reported_once_in_each_of_its_sessions(session: CodexSession) -> None:
    session.model.script.add(say("A."), say("B."), say(LONG, when="Talk long", held=4), say("Back.", when="again"))
    session.model.script.add(say("Back.", when="again"))
    session.create().turn("Hello")
    other = session.another().create()
    other.turn("Hello")
    assert session.app_server()
    session.send("Talk long")
    session.until_output("word")
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


def test_the_session_resumes_after_the_daemon_is_killed(session: CodexSession, codex_daemon: DaemonProcess) -> None:
    session.model.script.add(say("Noted."), say(LONG, held=4), say("It was seven."))
    session.create().turn("Remember seven")
    session.send("Talk long")
    session.until_output("word")
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


def test_an_app_server_that_does_not_answer_is_ended_and_reported_to_the_others(session: CodexSession) -> None:
    session.model.script.add(say("A."), say("B."), say("Back."))
    session.create().turn("Hello")
    other = session.another().create()
    other.turn("Hello")
    pause(session.app_server())
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
