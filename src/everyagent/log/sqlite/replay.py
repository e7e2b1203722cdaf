"""Replays stored events, in pages of bounded size, to readers that are behind the recent chunks."""

from functools import partial
from typing import cast

from everyagent.log.blobs import Blobs
from everyagent.log.chunk import EventChunk
from everyagent.log.log import FeedPosition
from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.pages import PageShape, Span, read_page, session_head
from everyagent.log.sqlite.readers import ReaderThreads
from everyagent.log.sqlite.rows import key
from everyagent.log.tail import FeedMark, FeedReplay, Replay

REPLAY_BYTES = 512 << 10
REPLAY_EVENTS = 1000
FEED_COMMITS = 200


class SqliteStorage:
    """The `Storage` of `tail.py`."""

    def __init__(self, readers: ReaderThreads, blobs: Blobs) -> None:
        self._readers = readers
        self._blobs = blobs

    async def replay(self, session: int, after: int, until: int | None) -> Replay:
        return await self._readers.read(partial(_replay, blobs=self._blobs, session=session, after=after, until=until))

    async def replay_feed(self, after: FeedMark, until: int) -> FeedReplay:
        return await self._readers.read(partial(_replay_feed, blobs=self._blobs, after=after, until=until))


def _replay(connection: Connection, blobs: Blobs, session: int, after: int, until: int | None) -> Replay:
    head = session_head(connection, session)
    last = head if until is None else min(head, until)
    if after >= last:
        return Replay(head, None)
    return Replay(head, _chunk(connection, blobs, session, after + 1, last))


def _replay_feed(connection: Connection, blobs: Blobs, after: FeedMark, until: int) -> FeedReplay:
    """Skips commits of deleted sessions."""
    (commit, sequence), whole = after
    rows = connection.execute(
        "SELECT commits.number, session, max(first, iif(commits.number = ?2, ?3 + 1, 0)) AS start, last "
        "FROM commits JOIN sessions ON sessions.number = session "
        "WHERE commits.number >= ?1 AND commits.number <= ?4 AND start <= last ORDER BY commits.number LIMIT ?5",
        (commit + whole, commit, sequence, until, FEED_COMMITS),
    ).fetchall()
    chunks: list[EventChunk] = []
    room = REPLAY_BYTES
    for number, session, first, last in cast("list[tuple[int, int, int, int]]", rows):
        chunk = _chunk(connection, blobs, session, first, last, number)
        chunks.append(chunk)
        room -= chunk.size
        if chunk.last < last or room <= 0:
            return FeedReplay(chunks, FeedMark(FeedPosition(number, chunk.last), whole=chunk.last == last))
    if len(rows) < FEED_COMMITS:
        return FeedReplay(chunks, FeedMark(FeedPosition(until, 0), whole=True))
    return FeedReplay(chunks, FeedMark(FeedPosition(chunks[-1].commit, chunks[-1].last), whole=True))


def _chunk(connection: Connection, blobs: Blobs, session: int, first: int, last: int, commit: int = 0) -> EventChunk:
    """The events from `first` on that one page holds."""
    span = Span(key(session, first) - 1, key(session, last) + 1, REPLAY_EVENTS + 1)
    return EventChunk(session, read_page(connection, blobs, span, PageShape(size=REPLAY_BYTES)).events, commit)
