"""The log on a full or broken disk acknowledges nothing that is not stored."""

import asyncio
import errno
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

import apsw
import pytest
from faulty_disk import FaultyDisk

from everyagent.clock import SystemClock
from everyagent.errors import CommitFailed, LogConflict, StorageFull, Unavailable
from everyagent.log.log import Append, SessionRecord
from everyagent.log.sqlite import SqliteLog
from everyagent.log.sqlite.writer import Job
from everyagent.testing.log_rules.samples import (
    LIMIT,
    START,
    event,
    events,
    grow,
    new_session,
    queued,
    receipt,
    record,
    sequences,
    whole,
)


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    disk.unregister()


@pytest.fixture
async def log(disk: FaultyDisk, tmp_path: Path) -> AsyncIterator[SqliteLog]:
    log = await SqliteLog.open(tmp_path, SystemClock(), vfs=disk.name)
    yield log
    await log.close()


def no_room(operation: str) -> None:
    if operation == "write":
        raise apsw.FullError("no room")


def step(session: SessionRecord, head: int, count: int = 1, size: int = 100) -> Append:
    return Append(
        session=session.number, epoch=0, expected=head, at=START, events=events(head + 1, head + count, size=size)
    )


async def becomes(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.005)


async def test_a_full_disk_refuses_at_once_and_writes_nothing(log: SqliteLog, disk: FaultyDisk) -> None:
    session = await new_session(log)
    disk.fault = no_room
    refused = (
        log.append(step(session, 1)),
        log.create(record("two"), [event(1)]),
        log.append(queued(session, "itm_1", receipt=receipt("key"))),
        log.keep_receipt(receipt("other")),
        log.claim("one"),
        log.delete("one"),
    )
    for each in refused:
        with pytest.raises(StorageFull, match="goes on by itself"):
            await each
        assert log.full
    assert await log.session("one") == session
    assert sequences(await whole(log, session.number)) == [1]
    disk.fault = lambda _: None
    await becomes(lambda: not log.full)
    assert await grow(log, session, 1, 1) == 2
    assert await log.receipt("key") is None


async def test_patient_appends_wait_for_room_in_order(log: SqliteLog, disk: FaultyDisk) -> None:
    one, two = await new_session(log, "one"), await new_session(log, "two")
    disk.fault = no_room
    waiting = [log.append(step(one, head), patient=True) for head in range(1, 20)]
    waiting.append(log.append(step(two, 1), patient=True))
    await becomes(lambda: log.full)
    waiting += [log.append(step(one, head), patient=True) for head in range(20, 40)]
    with pytest.raises(StorageFull):
        await log.append(step(one, 40))
    with pytest.raises(StorageFull):
        await log.append(step(two, 2))
    assert not any(each.done() for each in waiting)
    assert sequences(await whole(log, one.number)) == [1]
    disk.fault = lambda _: None
    await asyncio.wait_for(asyncio.gather(*waiting), LIMIT)
    assert not log.full
    assert sequences(await whole(log, one.number)) == list(range(1, 41))
    assert sequences(await whole(log, two.number)) == [1, 2]


async def test_readers_work_while_the_disk_is_full(log: SqliteLog, disk: FaultyDisk) -> None:
    session = await new_session(log)
    tail = log.tail(session.number, 0)
    disk.fault = no_room
    waiting = log.append(step(session, 1), patient=True)
    await becomes(lambda: log.full)
    chunk = await anext(tail)
    assert chunk is not None
    assert chunk.last == 1
    disk.fault = lambda _: None
    chunk = await asyncio.wait_for(anext(tail), LIMIT)
    assert chunk is not None
    assert chunk.last == 2
    await waiting


async def test_closing_the_log_fails_appends_that_wait_for_room(tmp_path: Path, disk: FaultyDisk) -> None:
    log = await SqliteLog.open(tmp_path, SystemClock(), vfs=disk.name)
    session = await new_session(log)
    disk.fault = no_room
    waiting = log.append(step(session, 1), patient=True)
    await becomes(lambda: log.full)
    await asyncio.wait_for(log.close(), LIMIT)
    with pytest.raises(Unavailable):
        await waiting
    with pytest.raises(Unavailable):
        await log.append(step(session, 1))


async def test_a_blob_without_room_is_a_full_disk_error(log: SqliteLog, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await new_session(log)
    put = log._blobs.put

    def no_room_for_blobs(_body: bytes) -> bytes:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(log._blobs, "put", no_room_for_blobs)
    with pytest.raises(StorageFull):
        await log.append(step(session, 1, size=300 << 10))
    waiting = log.append(step(session, 1, size=300 << 10), patient=True)
    await becomes(lambda: log.full)
    monkeypatch.setattr(log._blobs, "put", put)
    await asyncio.wait_for(waiting, LIMIT)
    assert sequences(await whole(log, session.number)) == [1, 2]


@pytest.mark.parametrize("operation", ["write", "sync"])
async def test_a_broken_disk_never_acknowledges_events_that_are_not_stored(
    log: SqliteLog, disk: FaultyDisk, operation: str
) -> None:
    """An I/O error at the first, second, third, … write or sync of a series of appends."""
    session = await new_session(log)
    head = 1
    for failing in range(1, 16):
        countdown = failing

        def fault(current: str) -> None:
            nonlocal countdown
            countdown -= current == operation
            if countdown == 0 and current == operation:
                raise apsw.IOError("the disk is broken")

        disk.fault = fault
        told = 0
        for _ in range(6):
            try:
                await log.append(step(session, head, 3, size=3000))
                head += 3
            except CommitFailed:
                told += 1
        disk.fault = lambda _: None
        # A group that fails is tried once more, job by job: a single error is healed by that.
        assert told == 0
        assert (await log.session("one")).last_sequence == head
        assert sequences(await whole(log, session.number)) == list(range(1, head + 1))
    assert not log.full


async def test_a_disk_that_stays_broken_gives_an_error_and_changes_nothing(log: SqliteLog, disk: FaultyDisk) -> None:
    session = await new_session(log)

    def broken(_operation: str) -> None:
        raise apsw.IOError("the disk is broken")

    disk.fault = broken
    results = await asyncio.gather(
        log.append(step(session, 1), patient=True), log.append(step(session, 2)), return_exceptions=True
    )
    assert isinstance(results[0], CommitFailed)
    assert isinstance(results[1], (CommitFailed, LogConflict))
    disk.fault = lambda _: None
    assert sequences(await whole(log, session.number)) == [1]
    assert await grow(log, session, 1, 1) == 2


async def test_a_locked_database_fails_all_waiting_appends_after_one_timeout(tmp_path: Path) -> None:
    """Another program holds a write transaction. Each append fails once, and none waits for the others' timeouts."""
    log = await SqliteLog.open(tmp_path, SystemClock(), busy_seconds=0.05)
    session = await new_session(log)
    attempts: list[int] = []
    attempt = log._writer._attempt

    def counted(jobs: Sequence[Job]) -> None:
        attempts.append(len(jobs))
        attempt(jobs)

    log._writer._attempt = counted
    foreign = apsw.Connection(str(tmp_path / "everyagent.db"))
    foreign.execute("BEGIN IMMEDIATE")
    try:
        waiting = [log.append(step(session, head), patient=True) for head in range(1, 101)]
        results = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), LIMIT)
        assert {type(result) for result in results} == {CommitFailed}
        assert sum(attempts) == len(waiting), "no append was tried twice"
    finally:
        foreign.execute("ROLLBACK")
        foreign.close()
    assert not log.full
    assert sequences(await whole(log, session.number)) == [1]
    assert await grow(log, session, 1, 3) == 4
    await log.close()
