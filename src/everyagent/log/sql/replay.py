"""Replays stored events, in pages of bounded size, to readers that are behind the recent chunks."""

from functools import partial
from typing import Generic, Protocol, TypeVar, cast

from everyagent.errors import LogDamaged, SessionNotFound
from everyagent.log.chunk import EventChunk
from everyagent.log.log import EventPage, FeedPosition
from everyagent.log.recent import PIECE_BYTES
from everyagent.log.sql.checksums import CheckedReaders
from everyagent.log.sql.connection import Connection
from everyagent.log.sql.rows import key, no_such_session
from everyagent.log.sql.spans import EventRange, PageShape, session_head
from everyagent.log.tail import FeedMark, FeedReplay, Replay

REPLAY_EVENTS = 1000
FEED_COMMITS = 200

C = TypeVar("C", bound=Connection)
C_contra = TypeVar("C_contra", bound=Connection, contravariant=True)


class PageReader(Protocol[C_contra]):
    def read_page(self, connection: C_contra, span: EventRange, shape: PageShape) -> EventPage:
        """At most `span.limit - 1` events: the last row only shows that there are more."""
        ...


class SqlStorage(Generic[C]):
    """The `Storage` of `tail.py`."""

    def __init__(self, readers: CheckedReaders[C], pages: PageReader[C]) -> None:
        self._readers = readers
        self._pages = pages

    async def replay(self, session: int, after: int, until: int | None) -> Replay:
        return await self._readers.read(partial(_replay, pages=self._pages, session=session, after=after, until=until))

    async def replay_feed(self, after: FeedMark, until: int) -> FeedReplay:
        skipped: list[LogDamaged] = []
        replay = partial(_replay_feed, pages=self._pages, after=after, until=until, skipped=skipped)
        found = await self._readers.read(replay)
        self._readers.note(skipped)
        return found


def _replay(connection: C, pages: PageReader[C], session: int, after: int, until: int | None) -> Replay:
    head = session_head(connection, session)
    last = head if until is None else min(head, until)
    if after >= last:
        return Replay(head, None)
    chunk = _chunk(connection, pages, session, after + 1, last)
    if chunk is None:
        raise no_such_session(session)
    return Replay(head, chunk)


def _replay_feed(
    connection: C, pages: PageReader[C], after: FeedMark, until: int, skipped: list[LogDamaged]
) -> FeedReplay:
    """Skips commits of deleted sessions, and damaged events: they must not keep readers from other sessions."""
    (commit, sequence), whole = after
    rows = connection.execute(
        "SELECT commits.number, session, first, last FROM commits JOIN sessions ON sessions.number = session "
        "WHERE commits.number >= ?1 AND commits.number <= ?2 AND (commits.number > ?3 OR last > ?4) "
        "ORDER BY commits.number LIMIT ?5",
        (commit + whole, until, commit, sequence, FEED_COMMITS),
    ).fetchall()
    chunks: list[EventChunk] = []
    room = PIECE_BYTES
    for number, session, first, last in cast("list[tuple[int, int, int, int]]", rows):
        start = max(first, sequence + 1) if number == commit else first
        chunk = _intact_chunk(connection, pages, session, start, last, number, skipped)
        if chunk is None:
            continue
        chunks.append(chunk)
        room -= chunk.size
        if chunk.last < last or room <= 0:
            return FeedReplay(chunks, FeedMark(FeedPosition(number, chunk.last), whole=chunk.last == last))
    if len(rows) < FEED_COMMITS:
        return FeedReplay(chunks, FeedMark(FeedPosition(until, 0), whole=True))
    number, _, _, last = cast("tuple[int, int, int, int]", rows[-1])
    return FeedReplay(chunks, FeedMark(FeedPosition(number, last), whole=True))


def _intact_chunk(
    connection: C, pages: PageReader[C], session: int, first: int, last: int, commit: int, skipped: list[LogDamaged]
) -> EventChunk | None:
    """Like `_chunk`, from the first event on that is not damaged."""
    while first <= last:
        try:
            return _chunk(connection, pages, session, first, last, commit)
        except SessionNotFound:
            return None
        except LogDamaged as error:
            skipped.append(error)
            first = max(first, error.sequence) + 1
    return None


def _chunk(
    connection: C, pages: PageReader[C], session: int, first: int, last: int, commit: int = 0
) -> EventChunk | None:
    """The events from `first` on that one page holds; None if the session was deleted meanwhile."""
    span = EventRange(key(session, first) - 1, key(session, last) + 1, REPLAY_EVENTS + 1)
    events = pages.read_page(connection, span, PageShape(size=PIECE_BYTES)).events
    return EventChunk(session, events, commit) if events else None
