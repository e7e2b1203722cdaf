"""Sessions whose thread was resumed: they have all options and events of a new one."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from codex_stage import CodexSession
from tests.agents.stage import daemon_of
from tests.scripted.responses_replies import patch, run, say
from tests.scripted.responses_server import ResponsesServer

from everyagent.agents.codex import program
from everyagent.model.events import TurnEnded
from everyagent.testing.daemon import DaemonProcess

REFUSED = {"sandbox_permissions": "require_escalated"}
ABSENT = "*** Begin Patch\n*** Update File: absent.txt\n@@\n-a\n+b\n*** End Patch\n"
PLAN = "<proposed_plan>\n# Plan\n- step one\n</proposed_plan>"


@pytest.fixture
def resumed(session: CodexSession) -> CodexSession:
    """It has a turn behind it; its process is gone."""
    session.model.script.add(say("Noted.", when="Remember seven"))
    session.create(permissionMode="sandboxed").turn("Remember seven")
    lose_process(session)
    return session


def lose_process(session: CodexSession) -> None:
    errors = len(session.errors())
    os.kill(session.app_server(), signal.SIGKILL)
    session.until(lambda: len(session.errors()) > errors)


def rollout(session: CodexSession) -> Path:
    (found,) = session.home.rglob("rollout-*.jsonl")
    return found


# -- calls that Codex refuses by itself ---------------------------------------------------------------------------


def test_a_command_that_codex_refuses_by_itself_is_a_failed_call(resumed: CodexSession) -> None:
    resumed.model.script.add(run("touch x", **REFUSED), say("Then not."))
    assert resumed.turn("Touch it").stop_reason == "end_turn"
    (called,) = resumed.items("tool_call")
    (returned,) = resumed.items("tool_result")
    assert (called.name, returned.status) == ("shell", "failed")
    assert "approval policy" in (returned.error or "")


def test_a_patch_that_does_not_apply_is_a_failed_call(resumed: CodexSession) -> None:
    resumed.model.script.add(patch(ABSENT), say("It does not fit."))
    resumed.turn("Patch it")
    (called,) = resumed.items("tool_call")
    (returned,) = resumed.items("tool_result")
    assert (called.name, returned.status) == ("apply_patch", "failed")
    assert "absent.txt" in (returned.error or "")


def test_a_call_with_an_item_is_not_repeated(resumed: CodexSession) -> None:
    resumed.model.script.add(run("echo one"), run("touch x", **REFUSED), run("echo two"), say("Done."))
    resumed.turn("Work")
    outputs = [(item.name, item.status) for item in resumed.items("tool_result")]
    assert sorted(outputs) == [("shell", "completed"), ("shell", "completed"), ("shell", "failed")]
    resumed.model.script.add(run("touch y", **REFUSED), say("Not either."))
    resumed.turn("Again")
    assert len(resumed.items("tool_call")) == len(resumed.items("tool_result")) == 4


def test_a_missing_record_is_reported_and_harms_nothing(resumed: CodexSession) -> None:
    resumed.model.script.add(say("Here."), run("touch x", **REFUSED), say("Then not."), say("Still here."))
    resumed.turn("Are you there?")
    rollout(resumed).unlink()
    assert resumed.turn("Touch it").stop_reason == "end_turn"
    assert resumed.turn("Are you there?").stop_reason == "end_turn"
    (warning,) = [item for item in resumed.statuses("warning") if "own record" in str(item.content)]
    assert "No such file" in str(warning.content)


def test_a_record_of_another_kind_is_reported_and_harms_nothing(resumed: CodexSession) -> None:
    held = say("Here I am.", held=1)
    resumed.model.script.add(held)
    resumed.send("Are you there?")
    resumed.until_output("Here")
    with rollout(resumed).open("ab") as record:
        record.write(b"not a record\n")
    held.release.set()
    assert resumed.next(TurnEnded, 2).stop_reason == "end_turn"
    assert [item for item in resumed.statuses("warning") if "own record" in str(item.content)]


# -- choices --------------------------------------------------------------------------------------------------------


def chosen(session: CodexSession) -> tuple[str, object]:
    request = session.model.requests[-1]
    return request.model, (request.reasoning or {}).get("effort")


def test_a_choice_that_is_taken_back_falls_back_to_the_default(session: CodexSession) -> None:
    session.model.script.add(*(say("Yes.") for _ in range(4)))
    session.create().turn("One")
    default = chosen(session)
    session.change(model="gpt-5.4", variant="low")
    session.turn("Two")
    assert chosen(session) == ("gpt-5.4", "low")
    session.change(model=None, variant=None)
    session.turn("Three")
    assert chosen(session) == default
    session.turn("Four")
    assert chosen(session) == default


def test_a_choice_that_is_taken_back_falls_back_to_the_configuration(session: CodexSession) -> None:
    session.configure('model_reasoning_effort = "high"\n')
    session.model.script.add(*(say("Yes.") for _ in range(2)))
    session.create(model="gpt-5.4", variant="low").turn("One")
    session.change(model=None, variant=None)
    session.turn("Two")
    assert chosen(session) == ("gpt-5.5", "high")


def test_a_choice_taken_back_while_nothing_runs_falls_back_to_the_default(session: CodexSession) -> None:
    session.model.script.add(*(say("Yes.") for _ in range(2)))
    session.create(model="gpt-5.4", variant="low").turn("One")
    lose_process(session)
    session.change(model=None, variant=None)
    session.turn("Two")
    assert chosen(session) == ("gpt-5.5", "medium")


def test_plan_mode_left_while_nothing_runs_is_left(session: CodexSession) -> None:
    session.model.script.add(say(PLAN), run("touch made"), say("Done."))
    session.create(agentMode="plan").turn("Plan it")
    lose_process(session)
    session.change(agentMode="build", permissionMode="bypass")
    session.turn("Do it")
    assert (session.workspace / "made").exists()
    assert "Collaboration Mode: Default" in session.model.requests[-1].everything


# -- letting go and coming back -----------------------------------------------------------------------------------


@pytest.fixture
def short_idle_daemon(codex_program: str, tmp_path: Path) -> Generator[DaemonProcess]:
    """A daemon that lets an agent go almost at once."""
    environment = {program.BINARY_VARIABLE: codex_program, "CODEX_HOME": str(tmp_path)}
    with daemon_of(tmp_path, "--idle-timeout", "1", **environment) as running:
        yield running


def test_idle_sessions_let_the_process_go_and_the_next_message_resumes_them(
    short_idle_daemon: DaemonProcess, scripted: ResponsesServer, tmp_path: Path
) -> None:
    with CodexSession(short_idle_daemon, scripted, tmp_path).played() as session:
        scripted.script.add(say("Noted."), say("It was seven."))
        session.create().turn("Remember seven")
        session.until(lambda: session.info()["status"] == "hibernated" and not session.processes("app-server"))
        session.turn("Which number?")
        assert "Remember seven" in scripted.requests[-1].everything
    assert session.processes("app-server") == []
