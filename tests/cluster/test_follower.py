"""The follower of other nodes' commits, when it cannot read them."""

import asyncio
from collections.abc import Sequence

import anyio
import pytest

from everyagent.errors import LogDamaged
from everyagent.log import fanout
from everyagent.log.chunk import EventChunk
from everyagent.log.fanout import Announcement, Follower, Heads, Hint
from everyagent.log.log import StoredEvent
from everyagent.log.recent import Recent
from everyagent.log.signals import Signals
from everyagent.log.tail import FeedMark, FeedReplay, Replay, SessionTail
from tests.waiting import LIMIT_SECONDS

SESSION = 7


class FailingStorage:
    """One event, and a second one that cannot be read."""

    def __init__(self) -> None:
        self.head = 1

    async def replay(self, session: int, after: int, until: int | None) -> Replay:
        if after < 1:
            return Replay(self.head, EventChunk(SESSION, [StoredEvent(1, 1, b"{}")]))
        if self.head > after:
            raise LogDamaged("The event 2 is damaged.", 2)
        return Replay(self.head, None)

    async def replay_feed(self, after: FeedMark, until: int) -> FeedReplay:
        raise AssertionError("a follower of one session reads no feed")


async def test_readers_of_a_damaged_event_get_its_error_and_do_not_wait_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fanout, "BEACON_SECONDS", 10 * LIMIT_SECONDS)
    storage, recent, signals = (
        FailingStorage(),
        Recent(1 << 20, 0),
        Signals(asyncio.get_running_loop(), 10 * LIMIT_SECONDS),
    )

    async def heads(_: Sequence[int]) -> Heads:
        return Heads(1, {SESSION: storage.head})

    follower = Follower(recent, signals, storage, heads, lambda _: None)
    tail = SessionTail(recent, signals, storage, SESSION, 0)
    failed = anyio.Event()

    async def read() -> None:
        with pytest.raises(LogDamaged):
            await anext(tail)
        failed.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follower.run)
        assert await anext(tail)
        tasks.start_soon(read)
        with anyio.fail_after(LIMIT_SECONDS):
            while not signals.waited_for(SESSION):
                await anyio.sleep(0)
            storage.head = 2
            follower.announced(Announcement("other", 2, [Hint(SESSION, 2, 2)]))
            await failed.wait()
        tasks.cancel_scope.cancel()
