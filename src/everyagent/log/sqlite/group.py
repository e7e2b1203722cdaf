"""Group commit: gathers the rows of many appends for one transaction, and the chunks to publish after it."""

from collections.abc import Sequence
from functools import cache

from everyagent.clock import Clock
from everyagent.log.blobs import INLINE_BYTES, Blobs
from everyagent.log.chunk import EventChunk
from everyagent.log.log import NewEvent, NewFrame, StoredEvent
from everyagent.log.projections import PROJECTION
from everyagent.log.sqlite.connection import Connection, Value
from everyagent.log.sqlite.rows import DIRECTION_NUMBERS, FORM_NUMBERS, key

#: Rows that one statement inserts. The thread gives up the interpreter at every statement, and must wait to get
#: it back while the event loop is busy: few long statements, not many short ones.
_BATCHES = (256, 32, 4, 1)


class Group:
    """The rows of one transaction. Every check of a job comes before it adds a row."""

    def __init__(self, connection: Connection, blobs: Blobs, clock: Clock, last_commit: int) -> None:
        self.connection = connection
        self.now = clock.micros()
        self.last_commit = last_commit
        self.deleted: list[int] = []
        self.rewritten: list[int] = []
        self.orphans: set[bytes] = set()
        self._blobs = blobs
        # The values of all rows in one flat list: a tuple for each row would cost time to make and to collect.
        self._events: list[Value] = []
        self._frames: list[Value] = []
        self._texts: list[Value] = []
        self._appended: dict[int, list[StoredEvent]] = {}

    def add_events(self, session: int, events: Sequence[NewEvent], at: int) -> None:
        first = key(session, events[0].sequence)
        rows = self._events
        for number, event in enumerate(events, first):
            body = event.body
            if len(body) <= INLINE_BYTES:
                rows += (number, event.type, event.frame, at, None, body)
            else:
                rows += (number, event.type, event.frame, at, self._spill(session, body), None)
        for event in events:
            if event.text:
                self._texts += (key(session, event.sequence), event.text.encode("utf-8", "replace").decode())
        stored = self._appended.setdefault(session, [])
        stored += [StoredEvent(event.sequence, event.type, event.body) for event in events]

    def add_frames(self, session: int, frames: Sequence[NewFrame], at: int) -> None:
        rows, zero = self._frames, key(session, 0)
        for frame in frames:
            body = frame.body
            blob = None if len(body) <= INLINE_BYTES else self._spill(session, body)
            rows += (
                zero | frame.number,
                DIRECTION_NUMBERS[frame.direction],
                FORM_NUMBERS[frame.form],
                at,
                frame.first_sequence,
                frame.last_sequence,
                blob,
                None if blob else body,
            )

    def flush(self) -> None:
        """Writes the rows gathered so far."""
        self._insert("events", 6, self._events)
        self._insert("frames", 8, self._frames)
        self._insert("search (rowid, text)", 2, self._texts)
        self._events, self._frames, self._texts = [], [], []

    def finish(self) -> list[EventChunk]:
        """Writes the rest; the chunks may be published once the commit has returned. Views are not in the feed."""
        self.flush()
        gone = {*self.deleted, *self.rewritten}
        commits: list[Value] = []
        chunks: list[EventChunk] = []
        for session, events in self._appended.items():
            if session & ~PROJECTION in gone or session in gone:
                continue
            if session & PROJECTION:
                chunks.append(EventChunk(session, events))
                continue
            self.last_commit += 1
            chunk = EventChunk(session, events, self.last_commit)
            chunks.append(chunk)
            commits += (chunk.commit, session, chunk.first, chunk.last)
        self._insert("commits", 4, commits)
        return chunks

    def _spill(self, session: int, body: bytes) -> bytes:
        digest = self._blobs.put(body)
        self.connection.execute("INSERT OR IGNORE INTO blobs (session, digest) VALUES (?, ?)", (session, digest))
        return digest

    def _insert(self, table: str, width: int, rows: list[Value]) -> None:
        start = 0
        for size in _BATCHES:
            count = size * width
            while len(rows) - start >= count:
                self.connection.execute(_insert_sql(table, width, size), rows[start : start + count])
                start += count


@cache
def _insert_sql(table: str, width: int, rows: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"INSERT INTO {table} VALUES {', '.join([row] * rows)}"
