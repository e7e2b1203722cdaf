"""The memory that following the session of a thread takes."""

from typing import cast

import anyio
import pytest

from everyagent.errors import SessionNotFound
from everyagent.managed.projection.document import ThreadOf
from everyagent.managed.roster.reports import ThreadReports
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
    "error", [SessionNotFound("It was deleted."), RuntimeError("broken")], ids=("deleted", "failed")
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
