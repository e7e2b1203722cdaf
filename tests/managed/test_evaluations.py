"""Evaluations of outcomes: cancelled by an interrupt, and run again after a restart."""

from collections.abc import Generator
from pathlib import Path
from typing import cast

import anyio
import pytest

from everyagent.errors import SessionNotFound
from everyagent.log.sqlite.log import SqliteLog
from everyagent.managed import Managed
from everyagent.managed.outcomes.verdict import verdict_in
from everyagent.managed.sessions.client_events import TextRubric, UserDefineOutcome, UserInterrupt
from everyagent.managed.sessions.presentation import document_of, state_of
from everyagent.managed.sessions.shape import SessionCreate
from everyagent.model.sessions import CreateSession, SendMessage
from everyagent.testing.daemon import DaemonProcess
from tests.managed.conftest import rebuilt
from tests.managed.raw import TOOLSET, Event, Raw
from tests.managed.services import agent, environment, managed
from tests.waiting import LIMIT_SECONDS, wait_until


@pytest.fixture
def own(tmp_path: Path) -> Generator[DaemonProcess]:
    running = DaemonProcess(tmp_path / "data", "--default-agent", "mock")
    running.start()
    yield running
    running.stop()
    assert rebuilt(running)


def judges(raw: Raw) -> list[Event]:
    """The sessions that judge, the oldest first."""
    listed = cast("list[Event]", raw.universal_call("GET", "/sessions")["sessions"])
    found = [each for each in listed if "everyagent.judges" in cast("Event", each["metadata"])]
    return sorted(found, key=lambda each: str(each["sessionId"]))


def wait_for(raw: Raw, kind: str, count: int) -> list[Event]:
    def found() -> list[Event] | None:
        events = [event for event in raw.events() if event["type"] == kind]
        return events if len(events) >= count else None

    return wait_until(found, raw.events)


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_an_evaluation_cut_off_by_a_crash_runs_again_after_the_restart(own: DaemonProcess, how: str) -> None:
    raw = Raw(own)
    raw.create(TOOLSET)
    rubric = {"type": "text", "content": '[slow seconds=3] {"result": "satisfied", "explanation": "Good."}'}
    raw.send({"type": "user.define_outcome", "description": "A greeting. [hello]", "rubric": rubric})
    wait_for(raw, "span.outcome_evaluation_ongoing", 1)
    wait_until(lambda: len(judges(raw)) == 1)
    if how == "killed":
        own.kill()
    else:
        own.stop()
    own.start()
    raw.wait_idle("end_turn")
    (end,) = wait_for(raw, "span.outcome_evaluation_end", 1)
    assert (end["result"], end["explanation"]) == ("satisfied", "Good.")
    assert len(wait_for(raw, "span.outcome_evaluation_start", 1)) == 1
    wait_until(lambda: [each["ended"] for each in judges(raw)] == [True, True])
    (evaluation,) = cast("list[Event]", raw.call("GET", raw.path)["outcome_evaluations"])
    assert evaluation["result"] == "satisfied"
    raw.close()


async def test_an_interrupt_ends_the_evaluation_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = SqliteLog.open.__func__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "heartbeat", 3600.0)  # else it would be noticed some time anyway
    async with managed(tmp_path) as on:
        chosen, place = await agent(on), await environment(on)
        session = await on.managed_sessions.create(SessionCreate(agent=chosen.id, environment_id=place.id))
        rubric = TextRubric(content="[slow seconds=10]")
        await on.talking.send(session.id, [UserDefineOutcome(description="A greeting. [hello]", rubric=rubric)])
        with anyio.fail_after(LIMIT_SECONDS):
            while (judge := await _judge_of(on, session.id)) is None or await _status(on, judge) != "running":
                await anyio.sleep(0.02)
        await on.talking.send(session.id, [UserInterrupt()])
        document = document_of(await on.sessions.projected.log.projection(session.id))
        assert [outcome.result for outcome in document.outcomes] == ["interrupted"]
        with anyio.fail_after(LIMIT_SECONDS):
            while await _status(on, judge) != "ended":
                await anyio.sleep(0.02)
        shown = await on.managed_sessions.retrieve(session.id)
        assert (shown.status, shown.outcome_evaluations[0].result) == ("idle", "interrupted")


async def test_a_failed_evaluation_has_the_error_of_the_judge(tmp_path: Path) -> None:
    async with managed(tmp_path) as on:
        judge = await on.sessions.create("sess_judge", CreateSession(agent="mock", directory=str(tmp_path)))
        message = SendMessage(message='[text words=3] [error code=auth message="Nobody is logged in."]')
        judgement = await verdict_in(on.sessions, judge.session_id, message)
        assert judgement.verdict.result == "failed"
        assert "Nobody is logged in." in judgement.verdict.explanation


async def _judge_of(on: Managed, session_id: str) -> str | None:
    outcome = state_of(await on.sessions.projected.log.projection(session_id)).outcome
    return outcome.judge if outcome else None


async def _status(on: Managed, session_id: str) -> str:
    try:
        return (await on.sessions.projected.log.session(session_id)).status
    except SessionNotFound:
        return ""
