"""The `Log` on a SQL database: ties the writer, the readers and the recent chunks together."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar, cast

from everyagent.clock import Clock
from everyagent.log.audit import AuditEntry
from everyagent.log.chunk import EventChunk
from everyagent.log.log import (
    Append,
    AskRecord,
    EventPage,
    EventQuery,
    FeedPosition,
    Input,
    JoinedPage,
    NewEvent,
    NewFrame,
    Receipt,
    SessionQuery,
    SessionRecord,
    TailPair,
)
from everyagent.log.projections import PROJECTION, NewProjection, ProjectionQuery, ProjectionRecord, ProjectionStep
from everyagent.log.recent import Recent
from everyagent.log.signals import ALL_SESSIONS, Signals
from everyagent.log.sql import asks, audit, projections, receipts, sessions, usage, writes
from everyagent.log.sql.audit import SqlAuditTrail
from everyagent.log.sql.checksums import CheckedReaders
from everyagent.log.sql.connection import Connection
from everyagent.log.sql.frames import frame_page
from everyagent.log.sql.job_thread import JobThread
from everyagent.log.sql.jobs import Commit, Readers
from everyagent.log.sql.records_store import SqlRecords
from everyagent.log.sql.replay import PageReader, SqlStorage
from everyagent.log.sql.scans import Scans
from everyagent.log.tail import FeedTail, PairedTail, SessionTail
from everyagent.log.usage import UsageQuery, UsageRow
from everyagent.model.sessions import FrameInfo, SearchHit

RECENT_BYTES = 16 << 20
HEARTBEAT_SECONDS = 10.0

C = TypeVar("C", bound=Connection)
W = TypeVar("W", bound=JobThread)
C_contra = TypeVar("C_contra", bound=Connection, contravariant=True)


class Queries(PageReader[C_contra], Protocol[C_contra]):
    """The reads that each database does in its own way."""

    #: The condition for sessions that a crash left unfinished.
    unfinished: str
    #: The number of bytes of the database.
    size: str
    #: That of `UsageExpressions`.
    directory: str
    #: Those of `SessionConditions`.
    in_directory: str
    has_metadata: str

    def page(self, connection: C_contra, query: EventQuery) -> EventPage: ...
    def joined_page(
        self, connection: C_contra, session_id: str, query: EventQuery, *, projection: bool
    ) -> JoinedPage: ...
    def blob(self, connection: C_contra, digest: bytes) -> bytes: ...
    def find_text(
        self, connection: C_contra, text: str, session: int | None, limit: int, workspace: str | None
    ) -> list[SearchHit]: ...


class SqlLog(ABC, Generic[C, W]):
    """All times in it are microseconds."""

    records: SqlRecords

    def __init__(
        self,
        writer: Callable[[Callable[[Commit], None]], W],
        readers: Readers[C],
        queries: Queries[C],
        clock: Clock,
        *,
        recent_bytes: int,
        heartbeat: float,
    ) -> None:
        """`writer` is called with the function that takes each commit on the event loop."""
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._readers = readers = CheckedReaders(readers)
        self._scans = Scans(readers)
        self._queries = queries
        self._writer = writer(self._settle)
        self._recent = Recent(recent_bytes, self._writer.last_commit)
        self._signals = Signals(self._loop, heartbeat)
        self._storage = SqlStorage(readers, queries)
        self.audit = SqlAuditTrail(self._writer, readers)

    async def create(
        self,
        record: SessionRecord,
        events: Sequence[NewEvent],
        frames: Sequence[NewFrame] = (),
        receipt: Receipt | None = None,
        projection: NewProjection | None = None,
        audit: AuditEntry | None = None,
    ) -> SessionRecord:
        return await self._writer.submit(
            lambda group: writes.create(group, record, events, frames, receipt, projection, audit)
        )

    async def claim(self, session_id: str) -> SessionRecord:
        return await self._writer.submit(lambda group: writes.claim(group, session_id))

    def append(self, append: Append, *, patient: bool = False) -> asyncio.Future[None]:
        return self._writer.submit(writes.AppendWork(append), session=append.session, patient=patient)

    async def delete(self, session_id: str, audit: AuditEntry | None = None) -> None:
        await self._writer.submit(lambda group: writes.delete(group, session_id, audit))

    async def keep_receipt(self, receipt: Receipt) -> None:
        await self._writer.submit(lambda group: writes.keep_receipt(group, receipt))

    async def reseal(self, anew: Callable[[bytes, str], bytes]) -> int:
        return await self._writer.submit(lambda group: writes.reseal(group, anew))

    async def inputs(self, session: int) -> list[Input]:
        return await self._readers.read(partial(sessions.inputs, session=session))

    async def session(self, session_id: str) -> SessionRecord:
        return await self._readers.read(partial(sessions.by_id, session_id=session_id))

    async def session_by_number(self, number: int) -> SessionRecord:
        return await self._readers.read(partial(sessions.by_number, number=number))

    async def sessions(self, query: SessionQuery) -> list[SessionRecord]:
        return await self._readers.read(partial(sessions.listing, query=query, conditions=self._queries))

    async def open_sessions(self) -> int:
        return await self._readers.read(sessions.count_open)

    async def size(self) -> int:
        def read(connection: Connection) -> int:
            (row,) = connection.execute(self._queries.size).fetchall()
            return cast("tuple[int]", row)[0]

        return await self._readers.read(read)

    async def unfinished(self) -> list[SessionRecord]:
        return await self._readers.read(partial(sessions.unfinished, condition=self._queries.unfinished))

    async def events(self, query: EventQuery) -> EventPage:
        return await self._readers.read(partial(self._queries.page, query=query))

    async def joined(self, session_id: str, query: EventQuery, *, projection: bool = False) -> JoinedPage:
        read = partial(self._queries.joined_page, session_id=session_id, query=query, projection=projection)
        return await (self._scans.read(read) if query.text else self._readers.read(read))

    async def projection(self, session_id: str) -> ProjectionRecord:
        return await self._readers.read(partial(projections.find, session_id=session_id))

    async def projections(self, query: ProjectionQuery) -> list[ProjectionRecord]:
        return await self._readers.read(partial(projections.listing, query=query))

    async def rewrite_projection(self, session: int, step: ProjectionStep, times: Sequence[int]) -> None:
        await self._writer.submit(lambda group: projections.rewrite(group, session, step, list(times)), session=session)

    async def frames(self, session: int, after: int, limit: int) -> tuple[list[FrameInfo], bool]:
        def read(connection: C) -> tuple[list[FrameInfo], bool]:
            return frame_page(connection, partial(self._queries.blob, connection), session, after, limit)

        return await self._readers.read(read)

    async def asks(self, session: int | None, *, pending: bool, workspace: str | None = None) -> list[AskRecord]:
        return await self._readers.read(partial(asks.listing, session=session, pending=pending, workspace=workspace))

    async def ask(self, session: int, ask_id: str) -> AskRecord | None:
        return await self._readers.read(partial(asks.find, session=session, ask_id=ask_id))

    async def receipt(self, key: str) -> Receipt | None:
        return await self._readers.read(partial(receipts.find, key=key, now=self._clock.micros()))

    async def search(self, text: str, session: int | None, limit: int, workspace: str | None = None) -> list[SearchHit]:
        return await self._scans.read(
            partial(self._queries.find_text, text=text, session=session, limit=limit, workspace=workspace)
        )

    async def spending(self) -> dict[str, float]:
        return await self._readers.read(audit.spending)

    async def usage(self, query: UsageQuery) -> list[UsageRow]:
        return await self._readers.read(partial(usage.sums, query=query, expressions=self._queries))

    def tail(self, session: int, after: int) -> AsyncIterator[EventChunk | None]:
        return SessionTail(self._recent, self._signals, self._storage, session, after)

    def paired_tail(self, session: int, after: int, projection_after: int) -> AsyncIterator[TailPair | None]:
        return PairedTail(
            SessionTail(self._recent, self._signals, self._storage, session, after),
            SessionTail(self._recent, self._signals, self._storage, session | PROJECTION, projection_after),
        )

    def feed(self, after: FeedPosition | None) -> AsyncIterator[EventChunk | None]:
        return FeedTail(self._recent, self._signals, self._storage, after)

    def head(self, session: int) -> int | None:
        return self._recent.head(session)

    @property
    def last_commit(self) -> int:
        return self._recent.commit

    @property
    def full(self) -> bool:
        return self._writer.full

    @property
    def damaged(self) -> int:
        return self._readers.damaged

    @property
    def lost(self) -> str:
        return ""

    async def close(self) -> None:
        if self._signals.closed:
            return
        self._writer.stop()
        self._signals.close()
        await self._loop.run_in_executor(None, self._close)

    @abstractmethod
    def _close(self) -> None:
        """Called in a thread, after the writer began to stop."""
        ...

    def _settle(self, commit: Commit) -> None:
        """Runs on the event loop after a commit: wakes readers first, then resolves the futures of the jobs."""
        self._recent.publish(commit.chunks)
        for session in commit.forgotten:
            self._recent.forget(session)
            self._signals.fire(session)
        for chunk in commit.chunks:
            self._signals.fire(chunk.session)
            if chunk.session & PROJECTION:  # readers of both wait for the session's signal
                self._signals.fire(chunk.session & ~PROJECTION)
        if commit.chunks:
            self._signals.fire(ALL_SESSIONS)
        for future, outcome in commit.outcomes:
            if future.done():
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
