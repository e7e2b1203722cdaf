"""Long reads: they end with their callers, and leave threads for other reads."""

import asyncio
import threading
from pathlib import Path

import anyio
import pytest
from tests.waiting import LIMIT_SECONDS

from everyagent.clock import SystemClock
from everyagent.errors import Unavailable
from everyagent.log.log import SessionQuery
from everyagent.log.sql import scans
from everyagent.log.sqlite import readers
from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.log import SqliteLog

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def endless(connection: Connection) -> object:
    return connection.execute(ENDLESS).fetchone()


async def test_a_read_that_nobody_waits_for_is_interrupted(tmp_path: Path) -> None:
    log = await SqliteLog.open(tmp_path, SystemClock())
    reads = [asyncio.ensure_future(log._threads.read(endless)) for _ in range(2 * readers.THREADS)]  # pyright: ignore[reportPrivateUsage]
    await asyncio.sleep(0)
    for read in reads:
        read.cancel()
    with anyio.fail_after(LIMIT_SECONDS):
        await asyncio.gather(*reads, return_exceptions=True)
        assert await log.sessions(SessionQuery()) == []
        await log.close()


async def test_a_read_is_interrupted_whose_statement_begins_after_its_caller_left(tmp_path: Path) -> None:
    log = await SqliteLog.open(tmp_path, SystemClock())
    running, left = threading.Event(), threading.Event()

    def late(connection: Connection) -> object:
        running.set()
        assert left.wait(LIMIT_SECONDS)
        return endless(connection)

    read = asyncio.ensure_future(log._threads.read(late))  # pyright: ignore[reportPrivateUsage]
    assert await asyncio.to_thread(running.wait, LIMIT_SECONDS)
    read.cancel()
    await asyncio.gather(read, return_exceptions=True)
    left.set()
    with anyio.fail_after(LIMIT_SECONDS):
        await asyncio.to_thread(log._threads.close)  # pyright: ignore[reportPrivateUsage]
    await log.close()


async def test_scans_leave_threads_for_other_reads_and_do_not_queue_up(tmp_path: Path) -> None:
    log = await SqliteLog.open(tmp_path, SystemClock())
    bounded = log._scans  # pyright: ignore[reportPrivateUsage]
    reads = [asyncio.ensure_future(bounded.read(endless)) for _ in range(scans.SCANS + scans.WAITING_SCANS)]
    await asyncio.sleep(0)
    with anyio.fail_after(LIMIT_SECONDS):
        assert await log.sessions(SessionQuery()) == []
        with pytest.raises(Unavailable, match="searches wait"):
            await log.search("text", None, 10)
        for read in reads:
            read.cancel()
        await asyncio.gather(*reads, return_exceptions=True)
        assert await log.search("text", None, 10) == []
        await log.close()
