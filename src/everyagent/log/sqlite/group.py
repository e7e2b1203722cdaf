"""What one commit writes: the rows of many appends together, and what readers are told of it afterwards."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain

from everyagent.clock import Clock
from everyagent.log.blobs import INLINE_BYTES, Blobs
from everyagent.log.chunk import EventChunk
from everyagent.log.log import NewEvent, NewFrame, StoredEvent
from everyagent.log.sqlite.connection import Connection, Row, Value
from everyagent.log.sqlite.rows import DIRECTION_NUMBERS, FORM_NUMBERS, key

#: Rows that one statement inserts. The thread gives up the interpreter at every statement, and must wait to get
#: it back while the event loop is busy: few long statements, not many short ones.
_BATCHES = (256, 32, 4, 1)


class Group:
    """Lives for one transaction. Whatever is checked is checked before anything is added to it."""

    def __init__(self, connection: Connection, blobs: Blobs, clock: Clock, last_commit: int) -> None:
        self.connection = connection
        self.now = clock.micros()
        self.last_commit = last_commit
        self.deleted: list[int] = []
        self.orphans: set[bytes] = set()
        self._blobs = blobs
        self._events: list[Row] = []
        self._frames: list[Row] = []
        self._texts: list[Row] = []
        self._appended: dict[int, list[StoredEvent]] = {}

    def add_events(self, session: int, events: Sequence[NewEvent], at: int) -> None:
        first = key(session, events[0].sequence)
        self._events += [
            (number, type_, frame, at, None, body)
            if len(body) <= INLINE_BYTES
            else (number, type_, frame, at, self._spill(session, body), None)
            for number, (_, type_, frame, body, _) in enumerate(events, first)
        ]
        self._texts += [
            (key(session, event.sequence), event.text.encode("utf-8", "replace").decode())
            for event in events
            if event.text
        ]
        stored = self._appended.setdefault(session, [])
        stored += [StoredEvent(sequence, type_, body) for sequence, type_, _, body, _ in events]

    def add_frames(self, session: int, frames: Sequence[NewFrame], at: int) -> None:
        for number, direction, form, body, first, last in frames:
            blob = None if len(body) <= INLINE_BYTES else self._spill(session, body)
            self._frames.append(
                (
                    key(session, number),
                    DIRECTION_NUMBERS[direction],
                    FORM_NUMBERS[form],
                    at,
                    first,
                    last,
                    blob,
                    None if blob else body,
                )
            )

    def flush(self) -> None:
        """Writes the rows gathered so far."""
        self._insert("events", 6, self._events)
        self._insert("frames", 8, self._frames)
        self._insert("search (rowid, text)", 2, self._texts)
        self._events, self._frames, self._texts = [], [], []

    def finish(self) -> list[EventChunk]:
        """Writes the rest; the chunks may be published once the commit has returned."""
        self.flush()
        kept = [(session, events) for session, events in self._appended.items() if session not in self.deleted]
        chunks = [
            EventChunk(session, events, commit) for commit, (session, events) in enumerate(kept, self.last_commit + 1)
        ]
        self._insert("commits", 4, [(chunk.commit, chunk.session, chunk.first, chunk.last) for chunk in chunks])
        self.last_commit += len(chunks)
        return chunks

    def _spill(self, session: int, body: bytes) -> bytes:
        digest = self._blobs.put(body)
        self.connection.execute("INSERT OR IGNORE INTO blobs (session, digest) VALUES (?, ?)", (session, digest))
        return digest

    def _insert(self, table: str, width: int, rows: Sequence[Row]) -> None:
        start = 0
        for size in _BATCHES:
            while len(rows) - start >= size:
                batch: Iterable[Value] = chain.from_iterable(rows[start : start + size])
                self.connection.execute(_insert_sql(table, width, size), tuple(batch))
                start += size


@cache
def _insert_sql(table: str, width: int, rows: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"INSERT INTO {table} VALUES {', '.join([row] * rows)}"
