"""The memory that following the session of a thread takes, and what is tried again."""

from typing import cast

import anyio
import pytest

from everyagent.errors import (
    EveryagentError,
    LogConflict,
    OwnedElsewhere,
    QueueFull,
    SessionNotFound,
    StorageFull,
    UnknownAgent,
)
from everyagent.managed.projection.document import ThreadOf
from everyagent.managed.roster.reports import FIRST_PAUSE, LONGEST_PAUSE, ThreadReports
from everyagent.model.principals import EventActor
from everyagent.sessions import Sessions
from tests.waiting import LIMIT_SECONDS

pytestmark = pytest.mark.anyio


class _Log:
    def __init__(self, error: Exception) -> None:
        self._error = error

    async def projection(self, _: str) -> None:
        raise self._error


class _Projected:
    def __init__(self, error: Exception) -> None:
        self.log = _Log(error)

    async def submit(self, session_id: str, *_: object) -> None:
        raise SessionNotFound(session_id)


class _Sessions:
    def __init__(self, error: Exception) -> None:
        self.projected = _Projected(error)


@pytest.mark.parametrize(
    "error",
    [SessionNotFound("It was deleted."), RuntimeError("broken"), UnknownAgent("There is no such agent.")],
    ids=("deleted", "failed", "permanent"),
)
async def test_nothing_is_kept_of_a_thread_that_cannot_be_followed(error: Exception) -> None:
    reports = ThreadReports(cast("Sessions", _Sessions(error)))
    payer = EventActor(key_id="key_1", name="test")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reports.run)
        for number in range(20):
            reports.expect(f"thread{number}", after=0)
            reports.follow(ThreadOf(session="coordinator", thread=f"thread{number}", key="key"), payer)
            with anyio.fail_after(LIMIT_SECONDS):
                assert not (await reports.rested(f"thread{number}")).replied
            reports.forget(f"thread{number}")
        tasks.cancel_scope.cancel()
    kept = {name: value for name, value in vars(reports).items() if isinstance(value, dict) and value}
    assert not kept


@pytest.mark.parametrize(
    "error",
    [OwnedElsewhere("On b."), StorageFull("Full."), QueueFull("Full."), LogConflict("Another writer.", 1)],
    ids=lambda error: error.code,
)
async def test_errors_that_may_pass_are_tried_again_after_longer_pauses(
    error: EveryagentError, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions, pauses = _Sessions(error), list[float]()
    reports = ThreadReports(cast("Sessions", sessions))

    async def slept(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 9:
            sessions.projected.log = _Log(SessionNotFound("It was deleted."))

    monkeypatch.setattr(anyio, "sleep", slept)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reports.run)
        reports.expect("thread", after=0)
        reports.follow(ThreadOf(session="coordinator", thread="thread", key="key"))
        with anyio.fail_after(LIMIT_SECONDS):
            assert not (await reports.rested("thread")).replied
        tasks.cancel_scope.cancel()
    assert pauses == [min(FIRST_PAUSE * 2**number, LONGEST_PAUSE) for number in range(9)]
