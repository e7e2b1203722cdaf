"""Group commit: gathers the rows of many appends for one transaction, and the chunks to publish after it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Protocol
from zlib import crc32

from everyagent.clock import Clock
from everyagent.log.blobs import INLINE_BYTES
from everyagent.log.chunk import EventChunk
from everyagent.log.log import NewEvent, NewFrame, StoredEvent
from everyagent.log.projections import PROJECTION
from everyagent.log.sql.connection import Connection, Value
from everyagent.log.sql.rows import DIRECTION_NUMBERS, FORM_NUMBERS, key


class BlobWriter(Protocol):
    def put(self, body: bytes) -> bytes:
        """Stores a body and returns its digest, so that a row may refer to it."""
        ...

    def adopt(self, path: Path, digest: bytes) -> None:
        """Like `put`, for an upload."""
        ...


class Group(ABC):
    """The rows of one transaction. Every check of a job comes before it adds a row."""

    #: The SQL function for the greatest of its arguments.
    greatest: ClassVar[str]

    def __init__(self, connection: Connection, blobs: BlobWriter, clock: Clock) -> None:
        self.connection = connection
        self.blobs = blobs
        self.now = clock.micros()
        self.deleted: list[int] = []
        self.rewritten: list[int] = []
        self.orphans: set[bytes] = set()
        # The values of all rows in one flat list: a tuple for each row would cost time to make and to collect.
        self._events: list[Value] = []
        self._frames: list[Value] = []
        self._texts: list[Value] = []
        self._appended: dict[int, list[StoredEvent]] = {}
        #: The times of appends, by session and expected head, whose sessions' rows are updated already.
        self.advanced: dict[tuple[int, int], int] = {}

    def add_events(self, session: int, events: Sequence[NewEvent], at: int) -> None:
        rows, stored = self._events, self._appended.setdefault(session, [])
        for number, event in enumerate(events, key(session, events[0].sequence)):
            body = event.body
            if len(body) <= INLINE_BYTES:
                rows += (number, event.type, event.frame, at, None, body, crc32(body))
            else:
                rows += (number, event.type, event.frame, at, self._spill(session, body), None, None)
            if event.text:
                self._texts += (number, event.text.encode("utf-8", "replace").decode())
            stored.append(StoredEvent(event.sequence, event.type, body))

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
        self.insert("events", 7, self._events)
        self.insert("frames", 8, self._frames)
        self.insert_texts(self._texts)
        self._events, self._frames, self._texts = [], [], []

    def finish(self) -> list[EventChunk]:
        """Writes the rest; the chunks may be published once the commit has returned. Views are not in the feed."""
        self.flush()
        gone = {*self.deleted, *self.rewritten}
        appended = {
            session: events
            for session, events in self._appended.items()
            if session & ~PROJECTION not in gone and session not in gone
        }
        count = sum(not session & PROJECTION for session in appended)
        commit = self.number_commits(count) if count else 0
        commits: list[Value] = []
        chunks: list[EventChunk] = []
        for session, events in appended.items():
            if session & PROJECTION:
                chunks.append(EventChunk(session, events))
                continue
            chunk = EventChunk(session, events, commit)
            chunks.append(chunk)
            commits += (commit, session, chunk.first, chunk.last)
            commit += 1
        self.insert("commits", 4, commits)
        return chunks

    @abstractmethod
    def number_commits(self, count: int) -> int:
        """The first of `count` new numbers of commits."""
        ...

    @abstractmethod
    def insert(self, table: str, width: int, rows: list[Value]) -> None:
        """Inserts rows of `width` values each, all of them in one list."""
        ...

    @abstractmethod
    def insert_texts(self, rows: list[Value]) -> None:
        """Adds to the full-text index: key and text, key and text, and so on."""
        ...

    def refer(self, owner: int, digest: bytes) -> None:
        """Keeps a blob for a session, or for a record by its number below zero."""
        self.connection.execute(
            "INSERT INTO blobs (session, digest) VALUES (?, ?) ON CONFLICT DO NOTHING", (owner, digest)
        )

    def _spill(self, session: int, body: bytes) -> bytes:
        digest = self.blobs.put(body)
        self.refer(session, digest)
        return digest
