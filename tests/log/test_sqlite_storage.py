"""Storage of the SQLite log: folder lock, schema version, blobs, deletion, receipts, page size, checkpoints."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from everyagent.clock import SystemClock
from everyagent.errors import Unavailable
from everyagent.log import retries
from everyagent.log.blobs import INLINE_BYTES
from everyagent.log.log import Append, EventQuery, FeedPosition, NewFrame
from everyagent.log.sqlite import SqliteLog, checkpoint, deletion, migrations, pages, writer
from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.migrations import migrate
from everyagent.testing.log_rules.samples import (
    LIMIT,
    START,
    event,
    events,
    grow,
    new_session,
    read_until,
    receipt,
    sequences,
    whole,
)

DAY = 24 * 3600 * 1_000_000


class SetClock:
    def __init__(self) -> None:
        self.now = START

    def micros(self) -> int:
        return self.now


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def log(clock: SetClock, tmp_path: Path) -> AsyncIterator[SqliteLog]:
    log = await SqliteLog.open(tmp_path, clock)
    yield log
    await log.close()


async def becomes(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.005)


def count(folder: Path, table: str) -> int:
    connection = apsw.Connection(str(folder / "everyagent.db"))
    try:
        return connection.execute(f"SELECT count(*) FROM {table}").get
    finally:
        connection.close()


async def test_a_folder_has_one_owner_and_the_error_names_it(log: SqliteLog, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"in use by another everyagent \(process \d+\)"):
        await SqliteLog.open(tmp_path, SystemClock())
    await log.close()
    await (await SqliteLog.open(tmp_path, SystemClock())).close()


async def test_a_database_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    await (await SqliteLog.open(tmp_path, SystemClock())).close()
    connection = apsw.Connection(str(tmp_path / "everyagent.db"))
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = (tmp_path / "everyagent.db").read_bytes()
    for _ in range(2):
        with pytest.raises(Unavailable, match="newer everyagent"):
            await SqliteLog.open(tmp_path, SystemClock())
    assert (tmp_path / "everyagent.db").read_bytes() == before


def test_migrations_run_once_and_all_or_nothing(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "db"))
    migrate(connection)  # pyright: ignore[reportArgumentType]
    tables = connection.execute("SELECT name FROM sqlite_schema ORDER BY name").fetchall()
    assert ("events",) in tables
    scripts = list(Path(migrations.__file__).parent.glob("*.sql"))
    assert connection.pragma("user_version") == len(scripts)
    migrate(connection)  # pyright: ignore[reportArgumentType]
    assert connection.execute("SELECT name FROM sqlite_schema ORDER BY name").fetchall() == tables
    connection.execute("PRAGMA user_version = 0")
    with pytest.raises(apsw.SQLError, match="already exists"):
        migrate(connection)  # pyright: ignore[reportArgumentType]
    assert connection.pragma("user_version") == 0
    connection.close()


async def test_the_database_is_durable_and_only_the_owner_may_read_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    log = await SqliteLog.open(folder, SystemClock())
    connection = log._writer._connection
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "blobs").stat().st_mode & 0o077 == 0
    await log.close()


async def test_receipts_are_kept_for_a_day(log: SqliteLog, clock: SetClock, tmp_path: Path) -> None:
    await log.keep_receipt(receipt("key"))
    clock.now += DAY - 1
    assert await log.receipt("key") == receipt("key")
    clock.now += 2
    assert await log.receipt("key") is None
    await log.keep_receipt(receipt("key", "other"))
    assert await log.receipt("key") == receipt("key", "other")
    clock.now += 2 * DAY
    await new_session(log)
    await becomes(lambda: count(tmp_path, "receipts") == 0)


async def test_a_blob_is_deleted_with_the_last_session_that_refers_to_it(log: SqliteLog, tmp_path: Path) -> None:
    made = [await new_session(log, f"s{n}") for n in range(2)]
    shared = b'"' + b"A" * INLINE_BYTES + b'"'
    for session in made:
        step = Append(
            session=session.number,
            epoch=0,
            expected=1,
            at=START,
            events=[event(2, size=INLINE_BYTES + session.number)],
            frames=[NewFrame(1, "from_agent", "json", shared, 2, 2)],
        )
        await log.append(step)

    def files() -> int:
        return len(list((tmp_path / "blobs").iterdir()))

    assert files() == 3
    await log.delete("s0")
    await becomes(lambda: files() == 2)
    (frame,), _ = await log.frames(made[1].number, 0, 1)
    assert frame.body == "A" * INLINE_BYTES
    await log.delete("s1")
    await becomes(lambda: files() == 0)


async def test_unreferenced_blobs_are_deleted_at_the_start(tmp_path: Path) -> None:
    log = await SqliteLog.open(tmp_path, SystemClock())
    session = await new_session(log)
    await grow(log, session, 1, 1, size=INLINE_BYTES)
    await log.close()
    (kept,) = (tmp_path / "blobs").iterdir()
    for name in ("0" * 64, "1" * 64 + ".tmp"):
        (tmp_path / "blobs" / name).write_bytes(b"left by a crash")
    log = await SqliteLog.open(tmp_path, SystemClock())
    assert list((tmp_path / "blobs").iterdir()) == [kept]
    assert sequences(await whole(log, session.number)) == [1, 2]
    await log.close()


async def test_the_data_of_a_deleted_session_is_removed_in_steps_also_after_a_restart(tmp_path: Path) -> None:
    log = await SqliteLog.open(tmp_path, SystemClock())
    kept, doomed = await new_session(log, "kept"), await new_session(log, "doomed")
    head = 1
    for number in range(1, 6):
        step = Append(
            session=doomed.number,
            epoch=0,
            expected=head,
            at=START,
            events=[event(head + n, text="word") for n in range(1, 1001)],
            frames=[NewFrame(number, "from_agent", "json", b"{}", head + 1, head + 1000)],
        )
        await log.append(step)
        head += 1000
    await log.delete("doomed")
    await log.close()
    log = await SqliteLog.open(tmp_path, SystemClock())
    await becomes(lambda: count(tmp_path, "debris") == 0)
    assert [count(tmp_path, table) for table in ("events", "frames", "search")] == [1, 0, 0]
    assert sequences(await whole(log, kept.number)) == [1]
    await log.close()


async def test_deletion_that_keeps_failing_is_retried_after_pauses_and_logged_once(
    log: SqliteLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    await becomes(lambda: not log._writer._debris)
    session = await new_session(log)
    await grow(log, session, 1, 10)
    remover, tries = log._writer._deletion, list[float]()
    remove_slice = remover.remove_slice

    def failing(_connection: Connection) -> bool:
        tries.append(time.monotonic())
        raise apsw.IOError("the disk is broken")

    monkeypatch.setattr(remover, "remove_slice", failing)
    await log.delete("one")
    other, head = await new_session(log, "two"), 1
    while len(tries) < 3:  # appends wake the writer again and again
        head = await asyncio.wait_for(grow(log, other, head, 1), LIMIT)
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert pauses[0] >= retries.FIRST_SECONDS
    assert pauses[1] >= 2 * retries.FIRST_SECONDS
    monkeypatch.setattr(remover, "remove_slice", remove_slice)
    await becomes(lambda: count(tmp_path, "debris") == 0)
    await becomes(lambda: not log._writer._housekeeping.failing)
    logged = capsys.readouterr().err
    assert logged.count("removing deleted data from the log failed") == 1
    assert logged.count("removing deleted data from the log works again") == 1


async def test_failed_checkpoints_are_logged_once_and_retried(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checkpoint, "WORTHWHILE_PAGES", 1)
    checkpointer, tries = log._checkpointer, list[float]()

    class Failing:
        def wal_checkpoint(self, mode: int) -> tuple[int, int]:
            tries.append(time.monotonic())
            raise apsw.IOError("the disk is broken")

        def close(self) -> None: ...

    working = checkpointer._connection
    checkpointer._connection = Failing()  # pyright: ignore[reportAttributeAccessIssue]
    session, head = await new_session(log), 1
    while len(tries) < 2:
        head = await asyncio.wait_for(grow(log, session, head, 1), LIMIT)
    assert tries[1] - tries[0] >= retries.FIRST_SECONDS
    checkpointer._connection = working
    while checkpointer._retries.failing:
        head = await asyncio.wait_for(grow(log, session, head, 1), LIMIT)
    logged = capsys.readouterr().err
    assert logged.count("moving the write-ahead log into the database failed") == 1
    assert logged.count("moving the write-ahead log into the database works again") == 1


async def test_commits_of_deleted_sessions_are_removed_but_their_numbers_are_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "_SLICE_COMMITS", 7)
    log = await SqliteLog.open(tmp_path, SystemClock())
    kept = await new_session(log, "kept")
    for number in range(20):
        doomed, head = await new_session(log, f"doomed-{number}"), 1
        for _ in range(3):
            head = await grow(log, doomed, head, 1)
    last = log._recent.commit
    for number in range(20):
        await log.delete(f"doomed-{number}")
    await becomes(lambda: count(tmp_path, "debris") == 0)
    assert count(tmp_path, "commits") == 2, "that of the session that is left, and the last one"
    await log.close()
    log = await SqliteLog.open(tmp_path, SystemClock())
    await grow(log, kept, 1, 1)
    assert log._recent.commit == last + 1
    assert sequences(await read_until(log.feed(FeedPosition(0, 0)), 2)) == [1, 2]
    assert sequences(await read_until(log.feed(FeedPosition(last, 1)), 1)) == [2]
    await log.close()


async def test_a_page_is_bounded_in_bytes_and_reports_that_more_events_exist(log: SqliteLog) -> None:
    session = await new_session(log)
    await grow(log, session, 1, 40, size=100_000)
    query = EventQuery(session=session.number, limit=1000)
    span = pages.span(log._writer._connection, query)
    page = await log._readers.read(
        lambda connection: pages.read_page(connection, log._blobs, span, pages.PageShape(size=1 << 20))
    )
    assert sequences(page.events) == list(range(1, 12))
    assert page.more
    step = Append(session=session.number, epoch=0, expected=41, at=START, events=events(42, 42, size=2 << 20))
    await log.append(step)
    assert sequences(await whole(log, session.number)) == list(range(1, 43))
    chunk = await anext(log.tail(session.number, 41))
    assert chunk is not None
    assert sequences(chunk.events) == [42]


async def test_the_write_ahead_log_does_not_grow_for_ever(
    log: SqliteLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "WORTHWHILE_PAGES", 256)
    monkeypatch.setattr(writer, "LARGE_PAGES", 1024)
    session = await new_session(log)
    head = 1
    for _ in range(100):
        head = await grow(log, session, head, 500, size=600)
    assert (tmp_path / "everyagent.db-wal").stat().st_size < 16 << 20
    assert (tmp_path / "everyagent.db").stat().st_size > 20 << 20
