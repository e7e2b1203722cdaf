"""Rules of tailing: replay, then live; a reader that resumes at any position gets no gap and no repeat."""

import asyncio
import random

import anyio
import pytest

from everyagent.errors import OffsetOutOfRange, SessionNotFound
from everyagent.log.chunk import EventChunk
from everyagent.log.log import FeedPosition, Log, SessionRecord, StoredEvent
from everyagent.testing.log_rules.samples import (
    LIMIT,
    LogStore,
    event,
    grow,
    new_session,
    read_until,
    sequences,
    whole,
)

CUTS = 1000


def _numbered(chunk: EventChunk) -> bytes:
    return b"".join([b"%d%b" % (stored.sequence, stored.body) for stored in chunk.events])


class TailingRules:
    async def test_a_tail_replays_and_then_follows(self, log: Log) -> None:
        session = await new_session(log)
        head = await grow(log, session, 1, 2500)
        tail = log.tail(session.number, 10)
        assert sequences(await read_until(tail, head)) == list(range(11, head + 1))
        follower = asyncio.ensure_future(read_until(tail, head + 3))
        head = await grow(log, session, head, 3)
        assert sequences(await follower) == [head - 2, head - 1, head]

    async def test_readers_at_the_same_place_share_a_chunk_and_what_is_derived_from_it(self, log: Log) -> None:
        session = await new_session(log)
        tails = [log.tail(session.number, 0) for _ in range(3)]
        for tail in tails:
            await read_until(tail, 1)
        waiting = [asyncio.ensure_future(anext(tail)) for tail in tails]
        await asyncio.sleep(0)
        await grow(log, session, 1, 2)
        async with asyncio.timeout(LIMIT):
            first, *others = await asyncio.gather(*waiting)
        assert first is not None
        derived = first.derived(_numbered, b"".join)
        assert derived == b"2%b3%b" % (event(2).body, event(3).body)
        assert all(other is not None and other.derived(_numbered, b"".join) is derived for other in others)
        assert (first.session, first.first, first.last) == (session.number, 2, 3)

    async def test_a_silent_tail_beats(self, log: Log, store: LogStore) -> None:
        session = await new_session(log)
        await log.close()
        quick = await store.open(heartbeat=0.01)
        try:
            async with asyncio.timeout(LIMIT):
                tail, feed = quick.tail(session.number, 1), quick.feed(None)
                assert await anext(tail) is None
                assert await anext(tail) is None
                assert await anext(feed) is None
                await grow(quick, session, 1, 1)
                assert sequences(await read_until(tail, 2)) == [2]
                assert sequences(await read_until(feed, 2)) == [2]
        finally:
            await quick.close()

    async def test_a_position_outside_the_log_gets_a_clear_answer(self, log: Log) -> None:
        session = await new_session(log)
        for after in (-1, 2, 1 << 40):
            with pytest.raises(OffsetOutOfRange):
                await anext(log.tail(session.number, after))
        for commit in (-1, 1 << 40):
            with pytest.raises(OffsetOutOfRange):
                await anext(log.feed(FeedPosition(commit, 0)))
        with pytest.raises(SessionNotFound):
            await anext(log.tail(session.number + 1, 0))

    async def test_a_tail_ends_when_its_session_is_deleted(self, log: Log) -> None:
        session = await new_session(log)
        tails = [log.tail(session.number, 0), log.tail(session.number, 0)]
        await anext(tails[0])
        waiting = asyncio.ensure_future(anext(tails[0]))
        await anext(tails[1])
        await asyncio.sleep(0)
        await log.delete("one")
        async with asyncio.timeout(LIMIT):
            with pytest.raises(StopAsyncIteration):
                await waiting
            with pytest.raises(StopAsyncIteration):
                await anext(tails[1])

    async def test_readers_end_when_the_log_is_closed(self, log: Log) -> None:
        session = await new_session(log)
        waiting = [asyncio.ensure_future(anext(each)) for each in (log.tail(session.number, 1), log.feed(None))]
        await asyncio.sleep(0)
        await log.close()
        for each in waiting:
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(each, LIMIT)

    async def test_a_cancelled_reader_takes_nobody_with_it_and_can_go_on(self, log: Log) -> None:
        session = await new_session(log)
        tails = [log.tail(session.number, 1) for _ in range(2)]
        waiting = [asyncio.ensure_future(anext(tail)) for tail in tails]
        # The first look is at the storage; only then does a reader wait for what comes.
        done, _ = await asyncio.wait(waiting, timeout=0.05)
        assert not done
        waiting[0].cancel()
        await grow(log, session, 1, 1)
        chunk = await asyncio.wait_for(waiting[1], LIMIT)
        assert chunk is not None
        assert sequences(await read_until(tails[0], 2)) == [2]

    async def test_a_reader_cut_anywhere_goes_on_without_gap_or_repeat(self, log: Log) -> None:
        """Readers that stop at random places, mid-chunk too, while a writer appends pieces of random sizes."""
        session = await new_session(log)
        chance = random.Random(7)
        total = 4000

        async def write() -> None:
            head = 1
            while head < total:
                head = await grow(log, session, head, min(chance.choice((1, 1, 2, 5, 40)), total - head), size=400)

        async def read() -> list[StoredEvent]:
            found: list[StoredEvent] = []
            cuts = 0
            while len(found) < total or cuts < CUTS // 4:
                cuts += 1
                restart = chance.randrange(len(found) + 1) if len(found) == total else len(found)
                del found[restart:]
                async for chunk in log.tail(session.number, restart):
                    if chunk is not None:
                        assert chunk.first == len(found) + 1
                        seen = chance.randint(1, len(chunk.events))
                        found += chunk.events[:seen]
                        if seen < len(chunk.events) or chance.random() < 0.3 or len(found) == total:
                            break
            return found

        results: list[list[StoredEvent]] = []

        async def collect() -> None:
            results.append(await read())

        with anyio.fail_after(LIMIT):
            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(collect)
                group.start_soon(write)
        stored = await whole(log, session.number)
        assert sequences(stored) == list(range(1, total + 1))
        assert results == [stored] * 4

    async def test_a_slow_reader_is_fed_later_when_memory_holds_no_more(self, log: Log, store: LogStore) -> None:
        session = await new_session(log)
        await log.close()
        small = await store.open(recent_bytes=4000)
        try:
            tail = small.tail(session.number, 0)
            await anext(tail)
            head = 1
            for _ in range(50):
                head = await grow(small, session, head, 3, size=500)
            assert sequences(await read_until(tail, head)) == list(range(2, head + 1))
        finally:
            await small.close()

    async def test_the_feed_has_all_sessions_in_commit_order_and_resumes_anywhere(self, log: Log) -> None:
        chance = random.Random(11)
        made: list[SessionRecord] = [await new_session(log, f"s{n}") for n in range(3)]
        heads = dict.fromkeys(range(3), 1)
        live = log.feed(None)
        for _ in range(60):
            which = chance.randrange(3)
            heads[which] = await grow(log, made[which], heads[which], chance.randint(1, 4))
        total = sum(heads.values())

        async def take(after: FeedPosition, count: int) -> list[tuple[FeedPosition, int]]:
            found: list[tuple[FeedPosition, int]] = []
            async with asyncio.timeout(LIMIT):
                async for chunk in log.feed(after):
                    if chunk is not None:
                        found += [(FeedPosition(chunk.commit, each.sequence), chunk.session) for each in chunk.events]
                    if len(found) >= count:
                        break
            return found

        everything = await take(FeedPosition(0, 0), total)
        assert len(everything) == total
        assert log.last_commit == everything[-1][0].commit
        assert [position for position, _ in everything] == sorted(position for position, _ in everything)
        for number, session in enumerate(made):
            mine = [position.sequence for position, owner in everything if owner == session.number]
            assert mine == list(range(1, heads[number] + 1))
        for _ in range(50):
            cut = chance.randrange(total - 1)
            assert await take(everything[cut][0], total - cut - 1) == everything[cut + 1 :]
        followed: list[StoredEvent] = []
        async with asyncio.timeout(LIMIT):
            while len(followed) < total - 3:
                chunk = await anext(live)
                followed += chunk.events if chunk else ()
        assert sequences(followed) == [position.sequence for position, _ in everything[3:]]

    async def test_the_feed_passes_over_deleted_sessions_and_survives_a_restart(
        self, log: Log, store: LogStore
    ) -> None:
        one, two = await new_session(log, "one"), await new_session(log, "two")
        await grow(log, one, 1, 5)
        await grow(log, two, 1, 1500, size=1000)
        await log.delete("one")
        for current in (log, None):
            reader = current or await store.open()
            found = await read_until(reader.feed(FeedPosition(0, 0)), 1501)
            assert sequences(found) == list(range(1, 1502))
            await reader.close()
