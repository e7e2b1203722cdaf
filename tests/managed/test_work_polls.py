"""Polls of the work queue on a clock that stands still: how often work is given away, and how often polls read."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import anyio
import pytest

from everyagent.clock import SystemClock
from everyagent.log.records import Insert, Record, RecordQuery
from everyagent.log.sqlite import SqliteLog
from everyagent.managed.work_queue import queue as work_queue
from everyagent.managed.work_queue.keys import WorkerKeys
from everyagent.managed.work_queue.queue import MAX_BACKOFF, WorkQueue
from everyagent.managed.work_queue.shape import MICROS, QueueStats, WorkBeat, WorkPoll
from everyagent.sessions.projected import ProjectedSessions
from tests.waiting import LIMIT_SECONDS

NOW = WorkPoll(reclaim_older_than_ms=0)


class Stage:
    """A queue with one environment, and one session that makes progress when `head` rises."""

    def __init__(self, log: SqliteLog) -> None:
        self.now = 1_800_000_000 * MICROS
        self.head = 5
        self.reads: list[RecordQuery] = []
        self._page = log.records.page
        projected = SimpleNamespace(log=SimpleNamespace(projection=self._projection))
        keys = SimpleNamespace(secret=self._secret)
        self.queue = WorkQueue(
            cast("ProjectedSessions", projected), log.records, cast("WorkerKeys", keys), self._memory, self
        )

    def micros(self) -> int:
        return self.now

    async def _projection(self, _: str) -> SimpleNamespace:
        return SimpleNamespace(status="running", head=self.head)

    def _secret(self, *_: object) -> str:
        return "secret"

    async def _memory(self, _: str) -> dict[str, bool]:
        return {}

    async def page(self, query: RecordQuery) -> list[Record]:
        self.reads.append(query)
        return await self._page(query)

    async def claim(self, asked: WorkPoll = NOW) -> str | None:
        """The id of the work that is claimed."""
        work = await self.queue.poll("env_1", asked, None)
        return work and work.id

    async def stats(self) -> QueueStats:
        return await self.queue.stats("env_1")

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * MICROS)


@asynccontextmanager
async def staged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Stage]:
    log = await SqliteLog.open(folder, SystemClock())
    stage = Stage(log)
    monkeypatch.setattr(log.records, "page", stage.page)
    await log.records.write(Insert(kind="environment", id="env_1", parent="", key=None, body=b"{}"))
    try:
        yield stage
    finally:
        await log.close()


async def test_claims_that_are_never_acknowledged_wait_longer_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(tmp_path, monkeypatch) as stage:
        await stage.queue.turn_begins("env_1", "sesn_1")
        work = await stage.claim()
        assert work
        assert await stage.claim() is None, "nobody takes it away at once, whatever is asked for"
        stage.wait(1)
        assert (await stage.claim(), (await stage.stats()).failures) == (work, 1)
        claims, seconds = 0, 0
        while seconds < 3600:
            seconds += 1
            stage.wait(1)
            claims += await stage.claim() is not None
        assert claims < 10 + 3600 / (MAX_BACKOFF / 2), "the wait grows, up to its bound"
        assert (await stage.stats()).failures >= 9


async def test_a_lost_lease_counts_as_a_failure_unless_the_session_made_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(tmp_path, monkeypatch) as stage:
        await stage.queue.turn_begins("env_1", "sesn_1")
        await lose(stage)
        assert (await lose(stage)).failures == 1, "the second try is at once"
        for failures in (2, 3):
            assert await stage.claim() is None
            stats = await stage.stats()
            assert (stats.failures, stats.next_try_at is not None) == (failures, True)
            stage.wait(MAX_BACKOFF)
            await lose(stage)
        stage.head += 1
        assert await stage.claim()
        assert (await stage.stats()).failures == 0, "the worker did something"


async def lose(stage: Stage) -> QueueStats:
    """A worker claims the work, sends one heartbeat and disappears. Returns the queue as it was meanwhile."""
    work = await stage.claim()
    assert work
    await stage.queue.ack("env_1", work)
    await stage.queue.heartbeat("env_1", work, WorkBeat(desired_ttl_seconds=1))
    stats = await stage.stats()
    stage.wait(1)
    return stats


async def test_a_waiting_poll_reads_at_its_beginning_and_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(tmp_path, monkeypatch) as stage:
        assert await stage.claim(WorkPoll(block_ms=999)) is None
        assert len(stage.reads) <= 3


async def test_queued_work_wakes_a_waiting_poll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_queue, "_LOOK_SECONDS", LIMIT_SECONDS)
    async with staged(tmp_path, monkeypatch) as stage:
        claimed: list[str | None] = []

        async def poll() -> None:
            claimed.append(await stage.claim(WorkPoll(block_ms=int(LIMIT_SECONDS) * 2000)))

        async with anyio.create_task_group() as group:
            group.start_soon(poll)
            with anyio.fail_after(LIMIT_SECONDS):
                while not stage.reads:
                    await anyio.sleep(0.01)
            await stage.queue.turn_begins("env_1", "sesn_1")
        assert claimed[0]
        reads = len(stage.reads)
        assert reads <= 4, "one for the turn, and two for the poll"
