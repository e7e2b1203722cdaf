"""Damaged events: each is reported with its session and sequence, and everything else can be read."""

import random
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, cast

import apsw
import msgspec
import psycopg
import pytest

from everyagent.clock import SystemClock
from everyagent.errors import CommitFailed, EveryagentError, LogDamaged
from everyagent.log.blobs import INLINE_BYTES, Blobs
from everyagent.log.intact_events import intact_events
from everyagent.log.log import Append, EventQuery, FeedPosition, Log, NewFrame, SessionRecord
from everyagent.log.postgres import PostgresLog
from everyagent.log.sql.checksums import CHECKED_SECONDS, RecentChecks
from everyagent.log.sql.spans import EventRange, PageShape
from everyagent.log.sqlite import SqliteLog
from everyagent.log.sqlite.database import Database
from everyagent.log.sqlite.pages import joined_page, page, read_page, span
from everyagent.testing.log_rules.samples import START, event, events, grow, new_session, read_until, sequences, whole

HEAD = 60


class Store(NamedTuple):
    """A log without recent chunks in memory, and a way to run a statement behind its back."""

    open: Callable[[], Awaitable[Log]]
    change: Callable[[str], None]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "sqlite":

        def change(statement: str) -> None:
            with closing(apsw.Connection(str(tmp_path / "everyagent.db"))) as connection:
                connection.execute(
                    statement.format(flipped="CAST(substr(body, 1, 20) || x'01' || substr(body, 22) AS BLOB)")
                )

        return Store(lambda: SqliteLog.open(tmp_path, SystemClock(), recent_bytes=0), change)
    url: str = request.getfixturevalue("postgres_url")

    def change_there(statement: str) -> None:
        with psycopg.connect(url) as connection:
            connection.execute(statement.format(flipped="set_byte(body, 20, 1)").encode())

    return Store(lambda: PostgresLog.open(url, tmp_path, SystemClock(), recent_bytes=0), change_there)


async def filled(log: Log, session_id: str) -> SessionRecord:
    """A session of `HEAD` events with a frame each, from the second on; event and frame 40 are in blobs."""
    session = await new_session(log, session_id)
    sizes = [INLINE_BYTES if number == 40 else 50 for number in range(2, HEAD + 1)]
    step = Append(
        session=session.number,
        epoch=session.epoch,
        expected=1,
        at=START + 1,
        events=[event(number, frame=number, size=size) for number, size in enumerate(sizes, 2)],
        frames=[
            NewFrame(number, "from_agent", "json", b'{"native":"%b"}' % (b"y" * size), number, number)
            for number, size in enumerate(sizes, 2)
        ],
    )
    await log.append(step)
    return session


def where(session: SessionRecord, number: int) -> str:
    return f"key = {session.number << 32 | number}"


@pytest.mark.parametrize(
    "damage", ["UPDATE events SET body = {flipped}", "DELETE FROM events"], ids=["flipped", "gone"]
)
async def test_a_damaged_event_is_named_and_everything_else_is_read(store: Store, damage: str) -> None:
    log = await store.open()
    try:
        session, other = await filled(log, "one"), await filled(log, "two")
        sound = await whole(log, session.number)
        store.change(f"{damage} WHERE {where(session, 20)}")
        query = EventQuery(session=session.number)
        before = await log.events(query)
        assert before.events == sound[:19]
        assert before.more
        for failing in (
            log.events(msgspec.structs.replace(query, after=19)),
            log.joined("one", msgspec.structs.replace(query, after=19)),
            log.events(msgspec.structs.replace(query, after=21, order="desc")),
            anext(log.tail(session.number, 19)),
        ):
            with pytest.raises(LogDamaged, match=r"Event 20 of session 'one' is damaged.*offset=20") as raised:
                await failing
            assert raised.value.facts == {"sessionId": "one", "sequence": 20}
        assert (await log.joined("one", msgspec.structs.replace(query, after=9, limit=10))).last == 19
        assert (await log.events(msgspec.structs.replace(query, after=20))).events == sound[20:]
        assert [stored async for stored in intact_events(log, query)] == sound[:19] + sound[20:]
        assert sequences(await whole(log, other.number)) == list(range(1, HEAD + 1))
        feed = log.feed(FeedPosition(0, 0))
        seen = [chunk async for chunk in _until_other(feed, other.number)]
        assert [stored for chunk in seen if chunk.session == session.number for stored in chunk.events] == (
            sound[:19] + sound[20:]
        )
        live = log.tail(session.number, HEAD)
        await grow(log, session, HEAD, 1)
        assert sequences(await read_until(live, HEAD + 1)) == [HEAD + 1]
        assert log.damaged == 1
    finally:
        await log.close()


async def _until_other(feed, session: int):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
    async for chunk in feed:
        if chunk is not None:
            yield chunk
            if chunk.session == session and chunk.last == HEAD:
                return


async def test_records_from_before_there_were_checksums_are_read(store: Store) -> None:
    log = await store.open()
    try:
        session = await filled(log, "one")
        sound = [await log.events(EventQuery(session=session.number, raw=raw)) for raw in (False, True)]
        store.change("UPDATE events SET crc = NULL WHERE key % 3 = 0")
        assert [await log.events(EventQuery(session=session.number, raw=raw)) for raw in (False, True)] == sound
    finally:
        await log.close()


async def test_no_flipped_bit_of_the_file_is_served(tmp_path: Path) -> None:
    """Reads a database with one flipped bit: each event is what was written, or the read fails."""
    log = await SqliteLog.open(tmp_path, SystemClock())
    session = await new_session(log, "one")
    await log.append(
        Append(session=session.number, epoch=session.epoch, expected=1, at=START, events=events(2, 400, size=300))
    )
    sound = {stored.sequence: stored.body for stored in await whole(log, session.number)}
    await log.close()
    file = tmp_path / "everyagent.db"
    with closing(apsw.Connection(str(file))) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        rows = connection.execute("SELECT pageno FROM dbstat WHERE name = 'events'").fetchall()
        pages = [cast("int", page) for (page,) in rows]
    data = file.read_bytes()
    chosen = random.Random(7)
    blobs = Blobs(tmp_path / "blobs")
    refused = 0
    for number in range(150):
        position = (chosen.choice(pages) - 1) * 4096 + chosen.randrange(4096)
        changed = bytearray(data)
        changed[position] ^= 1 << chosen.randrange(8)
        copy = tmp_path / f"flipped-{number}.db"
        copy.write_bytes(changed)
        with closing(Database(copy).reader()) as reader:
            query = EventQuery(session=session.number, limit=100)
            after = 0
            while after < 400:
                asked = msgspec.structs.replace(query, after=after)
                try:
                    found = page(reader, blobs, asked).events
                    body = joined_page(reader, blobs, RecentChecks(), "one", asked, projection=False)
                    replayed = read_page(reader, blobs, span(reader, asked), PageShape(size=8000)).events
                except (EveryagentError, apsw.Error) as error:
                    refused += 1
                    after = max(after + 1, error.sequence if isinstance(error, LogDamaged) else 0)
                    continue
                assert all(sound[stored.sequence] == stored.body for stored in (*found, *replayed))
                assert body.split() == [sound[sequence] for sequence in range(after + 1, body.last + 1)]
                after = found[-1].sequence
        copy.unlink()
    assert refused > 40


@pytest.mark.parametrize("suffix", ["", "-wal"])
async def test_a_deleted_database_is_noticed_and_nothing_more_is_written(tmp_path: Path, suffix: str) -> None:
    log = await SqliteLog.open(tmp_path, SystemClock())
    try:
        session = await new_session(log, "one")
        assert not log.lost
        file = tmp_path / f"everyagent.db{suffix}"
        file.rename(tmp_path / "elsewhere")
        assert str(file) in log.lost
        head = 1
        refusal = ""
        while not refusal:  # the writer looks at the file a few times a second
            try:
                head = await grow(log, session, head, 1)
            except CommitFailed as error:
                refusal = error.detail
        assert refusal == log.lost
        assert not file.exists()
        (tmp_path / "elsewhere").rename(file)
        assert not log.lost
        head = await grow(log, session, head, 1)
        assert sequences(await whole(log, session.number)) == list(range(1, head + 1))
    finally:
        await log.close()


def test_a_page_that_was_checked_is_checked_again_after_a_while():
    now = [0.0]
    checks, page = RecentChecks(lambda: now[0]), EventRange(0, 100)
    assert page not in checks
    checks.add(page)
    assert (page in checks, EventRange(0, 101) in checks) == (True, False)
    now[0] = CHECKED_SECONDS
    assert page not in checks


def test_few_checked_pages_are_remembered():
    checks = RecentChecks()
    for high in range(10_000):
        checks.add(EventRange(0, high))
    assert sum(EventRange(0, high) in checks for high in range(10_000)) <= 1_000
