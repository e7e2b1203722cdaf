"""The machine's clock jumps while the daemon runs: sessions go on, and their order stays."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from everyagent.access.token_bucket import TokenBucket
from everyagent.clock import SystemClock
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.log.log import SessionQuery
from everyagent.model.asks import PermissionAnswer
from everyagent.sessions import Sessions
from everyagent.sessions.limits import Limits
from everyagent.testing.rules import check
from tests.sessions.conftest import Talk
from tests.sessions.test_parked_asks import answer, asking, pending

Create = Callable[..., Awaitable[Talk]]
HOUR = 3_600_000_000
YEAR = 365 * 24 * HOUR
JUMPS = {"an hour ahead": HOUR, "an hour back": -HOUR, "a year ahead": YEAR, "a year back": -YEAR}


class JumpingClock(SystemClock):
    """`ahead` microseconds ahead of the machine's."""

    ahead = 0

    def micros(self) -> int:
        return super().micros() + self.ahead


@pytest.fixture
def opened_at(tmp_path: Path) -> Callable[[JumpingClock], AbstractAsyncContextManager[Sessions]]:
    @asynccontextmanager
    async def open_sessions(clock: JumpingClock) -> AsyncGenerator[Sessions]:
        settings = Settings(data_dir=tmp_path / "data", default_agent="mock")
        limits = Limits(sweep_every=0.02, idle_timeout=600, turn_timeout=600)
        async with sessions_of(settings, limits=limits, clock=clock) as sessions:
            yield sessions

    return open_sessions


async def in_order(talk: Talk) -> None:
    events = await talk.events()
    assert check(events, include_raw=True) == []
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))


@pytest.mark.parametrize("jump", JUMPS)
async def test_sessions_go_on_when_the_clock_jumps(
    opened_at: Callable[[JumpingClock], AbstractAsyncContextManager[Sessions]], create: Create, jump: str
) -> None:
    """In the middle of a turn that waits for an answer, between turns, back again, and over a restart."""
    clock = JumpingClock()
    async with opened_at(clock) as sessions:
        waiting = await asking(sessions, create, "[ask] [hello]", 1)
        resting = await create(sessions)
        await resting.say("[hello]")
        clock.ahead = JUMPS[jump]
        await resting.say("[text words=20]")
        (ask,) = await pending(waiting)
        await answer(waiting, ask, PermissionAnswer(reply="once"))
        await waiting.at_rest()
        clock.ahead = 0
        for talk in (waiting, resting):
            await talk.say("[hello]")
            await in_order(talk)
        clock.ahead = JUMPS[jump]
    for clock.ahead in (JUMPS[jump], 0):
        async with opened_at(clock) as sessions:
            for known in (waiting, resting):
                talk = Talk(sessions, known.id)
                assert not (await talk.info()).ended
                await talk.say("[hello]")
                await in_order(talk)
            listed, _ = await sessions.list(SessionQuery())
            assert {info.session_id for info in listed} == {waiting.id, resting.id}


@pytest.mark.parametrize("jump", JUMPS)
def test_a_rate_allows_requests_again_a_minute_after_a_jump(jump: str) -> None:
    bucket, now = TokenBucket(2, 1e9), 1e9
    while not bucket.take(now):
        pass
    now += JUMPS[jump] / 1e6
    bucket.take(now)
    assert bucket.take(now + 60) == 0
