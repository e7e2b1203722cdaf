"""`askTimeout`: asks that nobody answers are answered by the daemon, also after its restart."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import anyio
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from everyagent.clock import SystemClock, rfc3339
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.errors import AskClosed
from everyagent.model.asks import AskTimeout, PermissionAnswer
from everyagent.model.events import (
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionUpdated,
    TurnEnded,
)
from everyagent.model.principals import EventActor
from everyagent.model.sessions import UpdateSession
from everyagent.sessions import Sessions
from everyagent.sessions.limits import Limits
from everyagent.testing.rules import check
from tests.waiting import LIMIT_SECONDS

from .conftest import Talk
from .test_lives import Create
from .test_parked_asks import asking, pending

HOUR = 3_600_000_000
DAY = AskTimeout(seconds=86_400)
REQUESTED = (PermissionRequested, QuestionRequested)
BY_DAEMON = EventActor(key_id="daemon", name="askTimeout")


class MovedClock(SystemClock):
    """`ahead` microseconds ahead of the machine's."""

    ahead = 0

    def micros(self) -> int:
        return super().micros() + self.ahead


class OpenedAt(Protocol):
    def __call__(self, clock: MovedClock) -> AbstractAsyncContextManager[Sessions]: ...


@pytest.fixture
def opened_at(tmp_path: Path) -> OpenedAt:
    @asynccontextmanager
    async def open_sessions(clock: MovedClock) -> AsyncGenerator[Sessions]:
        settings = Settings(data_dir=tmp_path / "data", default_agent="mock")
        async with sessions_of(settings, limits=Limits(sweep_every=0.02), clock=clock) as sessions:
            yield sessions

    return open_sessions


async def resolved(talk: Talk) -> list[tuple[PermissionResolved | QuestionResolved, object]]:
    kinds = (PermissionResolved, QuestionResolved)
    return [(event.data, event.actor) for event in await talk.events() if isinstance(event.data, kinds)]


async def both_expire(talk: Talk, clock: MovedClock) -> None:
    """The agent asks twice, one after the other."""
    (first,) = await pending(talk)
    clock.ahead = 25 * HOUR
    with anyio.fail_after(LIMIT_SECONDS):
        while not [ask for ask in await pending(talk) if ask.ask_id != first.ask_id]:
            await anyio.sleep(0.01)
    clock.ahead = 50 * HOUR
    await talk.at_rest()


async def test_asks_are_denied_and_skipped_when_their_time_is_over(opened_at: OpenedAt, create: Create):
    clock = MovedClock()
    async with opened_at(clock) as sessions:
        talk = await asking(sessions, create, "[ask] [question]", 1, ask_timeout=DAY)
        assert (await talk.info()).ask_timeout == DAY
        (permission,) = await pending(talk)
        assert permission.expires_at == pytest.approx(permission.asked_at + 86_400_000, abs=1)
        await both_expire(talk, clock)
        requests = [each for each in await talk.events() if isinstance(each.data, REQUESTED)]
        assert [each.data.expires_at > each.time for each in requests if each.data.expires_at] == [True, True]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        events = await talk.events()
        assert check(events, include_raw=True) == []
        found = await resolved(talk)
        assert {(type(data), data.status, actor == BY_DAEMON) for data, actor in found} == {
            (PermissionResolved, "denied", True),
            (QuestionResolved, "rejected", True),
        }
        assert all(data.message == "Nobody answered in time (askTimeout)." for data, _ in found)
        (ended,) = [event.data for event in events if isinstance(event.data, TurnEnded)]
        assert ended.stop_reason == "end_turn"
        with pytest.raises(AskClosed):
            await sessions.answer(talk.id, permission.ask_id, PermissionAnswer(reply="once"))


async def test_the_creator_may_choose_the_answers(opened_at: OpenedAt, create: Create):
    clock, chosen = MovedClock(), replace(DAY, permission="allow", question="Decide yourself.")
    async with opened_at(clock) as sessions:
        talk = await asking(sessions, create, "[ask] [question]", 1, ask_timeout=chosen)
        await both_expire(talk, clock)
        by_type = {type(data): data for data, _ in await resolved(talk)}
        permission, question = by_type[PermissionResolved], by_type[QuestionResolved]
        assert isinstance(permission, PermissionResolved)
        assert isinstance(question, QuestionResolved)
        assert (permission.status, permission.reply) == ("approved", "once")
        assert question.answers == [["Decide yourself."]] * len(question.questions)


async def test_a_deadline_outlives_the_daemon(opened_at: OpenedAt, create: Create):
    clock = MovedClock()
    async with opened_at(clock) as sessions:
        talk = await asking(sessions, create, "[ask]", 1, ask_timeout=DAY)
        (before,) = await pending(talk)
        other = await asking(sessions, create, "[ask]", 1)
    clock.ahead = 25 * HOUR
    async with opened_at(clock) as sessions:
        talk, other = Talk(sessions, talk.id), Talk(sessions, other.id)
        await talk.at_rest()
        ((found, actor),) = await resolved(talk)
        assert isinstance(found, PermissionResolved)
        assert (found.permission_id, found.status, actor) == (before.ask_id, "denied", BY_DAEMON)
        assert check(await talk.events(), include_raw=True) == []
        assert [ask.expires_at for ask in await pending(other)] == [None]
        assert not sessions.held(other.id)


async def test_a_change_applies_to_the_asks_that_follow(opened_at: OpenedAt, create: Create):
    clock = MovedClock()
    async with opened_at(clock) as sessions:
        talk = await asking(sessions, create, "[ask]", 1)
        info = await sessions.update(talk.id, UpdateSession(ask_timeout=DAY))
        assert info.ask_timeout == DAY
        (ask,) = await pending(talk)
        clock.ahead = 48 * HOUR
        assert ask.expires_at is None
        await sessions.answer(talk.id, ask.ask_id, PermissionAnswer(reply="once"))
        await talk.at_rest()
        await talk.send("[ask]")
        await talk.until(lambda info: info.pending_asks == 1)
        assert (await sessions.update(talk.id, UpdateSession(ask_timeout=None))).ask_timeout is None
        clock.ahead = 96 * HOUR
        await talk.at_rest()
        assert [data.status for data, _ in await resolved(talk)] == ["approved", "denied"]
        changes = [event.data.ask_timeout for event in await talk.events() if isinstance(event.data, SessionUpdated)]
        assert [change for change in changes if change is not UNSET] == [DAY, None]
        assert rfc3339(clock.micros()) > (await talk.events())[-1].time
