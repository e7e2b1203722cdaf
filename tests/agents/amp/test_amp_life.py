"""Interrupts, failures, crashes and resuming of the real Amp."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from amp_stage import KEY, AmpSession
from tests.agents.stage import daemon_of
from tests.pausing import pause
from tests.scripted.amp_replies import Reply, call, fail, say
from tests.scripted.amp_server import BAD_KEY, AmpServer

from everyagent.agents.amp import program
from everyagent.model.events import Error, SessionUpdated, TurnEnded
from everyagent.testing.daemon import DaemonProcess

SLEEP = {"command": "python3 -c 'import time; time.sleep(50)'"}


def agent_pid(session: AmpSession) -> int:
    return session.until(session.agents)[0]


def begun(session: AmpSession) -> None:
    """Wait until Amp has echoed the message: a turn whose agent ends before that is tried again."""
    session.until(lambda: session.items("message") or None)


# -- interrupts ---------------------------------------------------------------------------------------------------


def test_an_interrupt_stops_the_output_and_keeps_the_session(session: AmpSession) -> None:
    session.model.script.add(say("Never said.", held=True, when="Talk"), say("Still here."))
    session.create().send("Talk long")
    begun(session)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Are you there?").stop_reason == "end_turn"
    assert session.replies() == ["Still here."]
    assert session.all(Error) == []
    assert len(session.model.threads) == 1


def test_an_interrupt_stops_a_tool_and_its_processes(session: AmpSession) -> None:
    session.model.script.add(call("shell_command", SLEEP, when="Sleep"), say("Awake."))
    session.create(permissionMode="bypass").send("Sleep")
    session.until(lambda: session.processes("time.sleep(50)"))
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    session.until(lambda: not session.processes("time.sleep(50)"))
    assert session.turn("Awake?").stop_reason == "end_turn"
    assert session.all(Error) == []


def test_an_interrupt_during_the_start_of_amp_ends_the_turn(session: AmpSession) -> None:
    session.model.script.add(say("Back.", when="Again"))
    session.create().send("Talk about it")
    agent_pid(session)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Again").stop_reason == "end_turn"


def test_the_process_is_killed_if_the_turn_does_not_stop(session: AmpSession) -> None:
    reply = say("Never heard.", held=True, when="Talk")
    session.model.script.add(say("Noted."), reply, say("It was seven."))
    session.create().turn("Remember seven")
    session.send("Talk long")
    session.until(lambda: "Talk long" in session.thread_text() or None)
    pause(agent_pid(session))
    session.cancel()
    assert session.next(TurnEnded, 2).stop_reason == "interrupted"
    reply.release.set()
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert session.replies()[-1] == "It was seven."
    assert len(session.model.threads) == 1


def test_a_late_reply_to_a_killed_turn_does_not_end_the_next_one(session: AmpSession) -> None:
    reply = say("An answer to the first.", held=True, when="first")
    session.model.script.add(reply, say("An answer to the second.", when="second"))
    session.create().send("first")
    begun(session)
    os.kill(agent_pid(session), signal.SIGKILL)
    session.next(TurnEnded)
    session.send("second")
    session.until(lambda: "second" in session.thread.waiting or None)
    reply.release.set()
    assert session.next(TurnEnded, 2).stop_reason == "end_turn"
    assert session.replies() == ["An answer to the first.", "An answer to the second."]


def test_a_queued_message_follows_a_cancelled_turn_on_the_same_thread(session: AmpSession) -> None:
    session.model.script.add(say("Never said.", held=True, when="first"), say("Second."))
    session.create().send("first")
    begun(session)
    session.send("second")
    session.cancel()
    assert session.next(TurnEnded, 2).stop_reason == "end_turn"
    assert session.replies() == ["Second."]
    assert session.all(Error) == []


# -- failures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("Model Provider Overloaded", "overloaded"),
        ("Context Limit Reached", "context_exceeded"),
        ("Something went wrong", "internal"),
    ],
)
def test_a_failed_turn_is_reported_and_the_next_one_works(session: AmpSession, words: str, code: str) -> None:
    session.model.script.add(fail(words, when="first"), say("Better."))
    ended = session.create().turn("first")
    assert ended.stop_reason == "error"
    assert words in (ended.error or "")
    assert [error.code for error in session.all(Error)] == [code]
    assert session.turn("second").stop_reason == "end_turn"
    assert session.replies() == ["Better."]
    assert len(session.model.threads) == 1
    assert "hibernated" not in [each.status for each in session.all(SessionUpdated)]


def test_a_missing_key_is_reported_before_amp_starts(session: AmpSession) -> None:
    session.model.script.add(say("Hello."))
    ended = session.create(env={"AMP_API_KEY": ""}).turn("Hello")
    assert ended.stop_reason == "error"
    (error,) = session.all(Error)
    assert error.code == "auth"
    assert "AMP_API_KEY" in error.message
    assert session.agents() == []


def test_a_stored_key_that_amp_does_not_accept_is_an_auth_error(session: AmpSession) -> None:
    """Amp prints a login link and would wait for ever."""
    stored = session.home / ".local" / "share" / "amp"
    stored.mkdir(parents=True)
    (stored / "secrets.json").write_text(f'{{"apiKey@{session.model.url}/": "{KEY}"}}')
    ended = session.create(env={"AMP_API_KEY": ""}).turn("Hello")
    assert ended.stop_reason == "error"
    assert {error.code for error in session.all(Error)} == {"auth"}
    frames = session.call("GET", f"/sessions/{session.id}/frames?limit=100").text
    assert "No API key found" in frames
    assert not any(part.isalnum() for part in frames.split("authToken=")[1:2] for part in [part[:1]])
    session.until(lambda: not session.agents())


def test_an_invalid_key_is_reported_and_not_retried(session: AmpSession) -> None:
    ended = session.create(env={"AMP_API_KEY": BAD_KEY}).turn("Hello")
    assert ended.stop_reason == "error"
    (error,) = session.all(Error)
    assert error.code == "auth"
    assert "Invalid or missing API key" in error.message
    assert "agents login amp" in error.message


def test_an_unreachable_server_is_retried_and_reported_and_used_again_later(session: AmpSession) -> None:
    with AmpServer() as gone:
        port = gone.port
    session.create(env={"AMP_URL": f"http://127.0.0.1:{port}"})
    assert session.turn("Hello").stop_reason == "error"
    errors = session.all(Error)
    assert {error.code for error in errors} == {"network"}
    assert errors[0].retry
    assert errors[-1].retry is None
    assert errors[-1].stderr
    with AmpServer(port) as back:
        back.script.add(say("Here again."))
        assert session.turn("Hello?").stop_reason == "end_turn"
        assert session.replies() == ["Here again."]
        session.terminate()


def test_a_dropped_connection_is_reopened(session: AmpSession) -> None:
    dropped = Reply(text="Said in spite of it.", held=True, drops=True)
    session.model.script.add(dropped, say("Next."))
    session.create().send("Go")
    begun(session)
    dropped.release.set()
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert session.turn("Go on").stop_reason == "end_turn"
    assert session.replies() == ["Said in spite of it.", "Next."]


# -- resuming -----------------------------------------------------------------------------------------------------


def test_a_killed_agent_is_reported_and_the_session_resumes(session: AmpSession) -> None:
    session.model.script.add(say("Noted."), call("shell_command", SLEEP, when="Sleep"), say("It was seven."))
    session.create(permissionMode="bypass").turn("Remember seven")
    session.send("Sleep")
    session.until(lambda: session.processes("time.sleep(50)"))
    os.kill(agent_pid(session), signal.SIGKILL)
    assert session.next(TurnEnded, 2).stop_reason == "error"
    assert session.all(Error)[-1].code == "agent_crashed"
    session.until(lambda: not session.processes("time.sleep(50)"))
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert len(session.model.threads) == 1


def test_the_thread_resumes_after_the_daemon_is_killed(session: AmpSession, daemon: DaemonProcess) -> None:
    session.model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    pid = agent_pid(session)
    daemon.kill()
    daemon.start()
    session.until(lambda: pid not in session.agents())
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert session.replies() == ["Noted.", "It was seven."]
    assert len(session.model.threads) == 1


@pytest.mark.parametrize("lost", ["archived", "deleted"])
def test_a_session_continues_from_its_transcript_if_the_thread_is_gone(
    session: AmpSession, daemon: DaemonProcess, lost: str
) -> None:
    session.model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    native = str(session.info()["nativeSessionId"])
    assert daemon.stop() == 0
    if lost == "archived":
        session.thread_of(native).archived = True
    else:
        del session.model.threads[native]
    daemon.start()
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert [error.details for error in session.all(Error)] == [{"history_lost": True}]
    assert session.info()["nativeSessionId"] != native
    assert "Remember seven" in session.thread_text()


@pytest.fixture
def short_idle_daemon(binary: str, tmp_path: Path) -> Generator[DaemonProcess]:
    """A daemon that hibernates idle sessions after half a second."""
    with daemon_of(tmp_path, "--idle-timeout", "0.5", **{program.BINARY_VARIABLE: binary}) as running:
        yield running


def test_an_idle_session_hibernates_and_resumes_its_thread(
    short_idle_daemon: DaemonProcess, model: AmpServer, tmp_path: Path
) -> None:
    with AmpSession(short_idle_daemon, model, tmp_path).played() as session:
        model.script.add(say("Noted."), fail("Something", when="Fail"), say("It was seven."))
        session.create().turn("Remember seven")
        for words in ("Fail", "Which number?"):
            session.until(lambda: session.info()["status"] == "hibernated")
            session.until(lambda: not session.agents())
            session.turn(words)
        assert session.replies() == ["Noted.", "It was seven."]
        assert len(model.threads) == 1


def test_a_fork_gets_the_conversation_before_it(session: AmpSession) -> None:
    session.model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    fork = session.call("POST", f"/sessions/{session.id}/fork", {}).json()["sessionId"]
    session.terminate()
    session.id = fork
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert "Remember seven" in session.thread_text()
    assert len(session.model.threads) == 2


def test_no_secret_of_the_session_is_in_its_log_or_a_command_line(session: AmpSession) -> None:
    session.model.script.add(call("shell_command", {"command": "true"}), say("Hello."))
    session.create().send("Hello")
    session.until(lambda: session.info()["pendingAsks"])
    secrets = [path.read_text() for path in Path(session.daemon.data_dir, "scratch").glob("*/amp/hook-token")]
    assert session.processes("hook_client.py")
    assert not [secret for secret in (KEY, *secrets) if session.processes(secret)]
    session.cancel()
    session.next(TurnEnded)
    frames = session.call("GET", f"/sessions/{session.id}/frames?limit=1000").text
    told = frames + "".join(body.decode() for body in session.bodies())
    assert secrets
    assert not [secret for secret in (KEY, *secrets) if secret in told]


def test_terminate_leaves_no_process(session: AmpSession) -> None:
    session.model.script.add(call("shell_command", SLEEP))
    session.create().send("Sleep")
    session.until(lambda: session.processes("hook_client.py"))
    session.terminate()
    session.until(lambda: not session.agents() + session.processes("hook_client.py"))
