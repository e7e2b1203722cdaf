"""The `Log` on SQLite: ties the writer, the readers, the recent chunks and the blobs together."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from everyagent.clock import Clock
from everyagent.log.blobs import Blobs, sync_folder
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
from everyagent.log.sqlite import asks, pages, projections, receipts, writes
from everyagent.log.sqlite.checkpoint import Checkpointer
from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.database import BUSY_SECONDS, Database
from everyagent.log.sqlite.frames import frame_page
from everyagent.log.sqlite.lock import FolderLock
from everyagent.log.sqlite.migrations import migrate
from everyagent.log.sqlite.readers import ReaderThreads
from everyagent.log.sqlite.records_store import SqliteRecords
from everyagent.log.sqlite.replay import SqliteStorage
from everyagent.log.sqlite.search import find_text
from everyagent.log.sqlite.sessions import by_id, by_number, inputs, listing, unfinished
from everyagent.log.sqlite.writer import Commit, Writer
from everyagent.log.tail import FeedTail, PairedTail, SessionTail
from everyagent.model.sessions import FrameInfo, SearchHit

RECENT_BYTES = 16 << 20
HEARTBEAT_SECONDS = 10.0


class _Opened(NamedTuple):
    lock: FolderLock
    database: Database
    connection: Connection
    blobs: Blobs


class SqliteLog:
    """Made by `open`. All times in it are microseconds."""

    def __init__(self, opened: _Opened, clock: Clock, *, recent_bytes: int, heartbeat: float) -> None:
        self._lock = opened.lock
        self._blobs = opened.blobs
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._readers = ReaderThreads(opened.database)
        self._checkpointer = Checkpointer(opened.database)
        self._writer = Writer(opened.connection, opened.blobs, clock, self._checkpointer, self._settle)
        self._recent = Recent(recent_bytes, self._writer.last_commit)
        self._signals = Signals(self._loop, heartbeat)
        self._storage = SqliteStorage(self._readers, opened.blobs)
        self.records = SqliteRecords(self._writer, self._readers, opened.blobs)

    @classmethod
    async def open(
        cls,
        folder: Path,
        clock: Clock,
        *,
        vfs: str | None = None,
        recent_bytes: int = RECENT_BYTES,
        heartbeat: float = HEARTBEAT_SECONDS,
        busy_seconds: float = BUSY_SECONDS,
    ) -> "SqliteLog":
        """`Unavailable` if another process has the folder, or a newer everyagent wrote it."""
        opened = await asyncio.get_running_loop().run_in_executor(None, _open, folder, vfs, busy_seconds)
        return cls(opened, clock, recent_bytes=recent_bytes, heartbeat=heartbeat)

    async def create(
        self,
        record: SessionRecord,
        events: Sequence[NewEvent],
        frames: Sequence[NewFrame] = (),
        receipt: Receipt | None = None,
        projection: NewProjection | None = None,
    ) -> SessionRecord:
        return await self._writer.submit(
            lambda group: writes.create(group, record, events, frames, receipt, projection)
        )

    async def claim(self, session_id: str) -> SessionRecord:
        return await self._writer.submit(lambda group: writes.claim(group, session_id))

    def append(self, append: Append, *, patient: bool = False) -> asyncio.Future[None]:
        return self._writer.submit(lambda group: writes.append(group, append), session=append.session, patient=patient)

    async def delete(self, session_id: str) -> None:
        await self._writer.submit(lambda group: writes.delete(group, session_id))

    async def keep_receipt(self, receipt: Receipt) -> None:
        await self._writer.submit(lambda group: writes.keep_receipt(group, receipt))

    async def reseal(self, anew: Callable[[bytes, str], bytes]) -> int:
        return await self._writer.submit(lambda group: writes.reseal(group, anew))

    async def inputs(self, session: int) -> list[Input]:
        return await self._readers.read(partial(inputs, session=session))

    async def session(self, session_id: str) -> SessionRecord:
        return await self._readers.read(partial(by_id, session_id=session_id))

    async def session_by_number(self, number: int) -> SessionRecord:
        return await self._readers.read(partial(by_number, number=number))

    async def sessions(self, query: SessionQuery) -> list[SessionRecord]:
        return await self._readers.read(partial(listing, query=query))

    async def unfinished(self) -> list[SessionRecord]:
        return await self._readers.read(unfinished)

    async def events(self, query: EventQuery) -> EventPage:
        return await self._readers.read(partial(pages.page, blobs=self._blobs, query=query))

    async def joined(self, session_id: str, query: EventQuery, *, projection: bool = False) -> JoinedPage:
        return await self._readers.read(
            partial(pages.joined_page, blobs=self._blobs, session_id=session_id, query=query, projection=projection)
        )

    async def projection(self, session_id: str) -> ProjectionRecord:
        return await self._readers.read(partial(projections.find, session_id=session_id))

    async def projections(self, query: ProjectionQuery) -> list[ProjectionRecord]:
        return await self._readers.read(partial(projections.listing, query=query))

    async def rewrite_projection(self, session: int, step: ProjectionStep, times: Sequence[int]) -> None:
        await self._writer.submit(lambda group: projections.rewrite(group, session, step, list(times)), session=session)

    async def frames(self, session: int, after: int, limit: int) -> tuple[list[FrameInfo], bool]:
        return await self._readers.read(
            partial(frame_page, blobs=self._blobs, session=session, after=after, limit=limit)
        )

    async def asks(self, session: int | None, *, pending: bool) -> list[AskRecord]:
        return await self._readers.read(partial(asks.listing, session=session, pending=pending))

    async def ask(self, session: int, ask_id: str) -> AskRecord | None:
        return await self._readers.read(partial(asks.find, session=session, ask_id=ask_id))

    async def receipt(self, key: str) -> Receipt | None:
        return await self._readers.read(partial(receipts.find, key=key, now=self._clock.micros()))

    async def search(self, text: str, session: int | None, limit: int) -> list[SearchHit]:
        return await self._readers.read(partial(find_text, text=text, session=session, limit=limit))

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
    def full(self) -> bool:
        return self._writer.full

    async def close(self) -> None:
        if self._signals.closed:
            return
        self._writer.stop()
        self._signals.close()
        await self._loop.run_in_executor(None, self._close)

    def _close(self) -> None:
        self._writer.join()
        self._readers.close()
        self._checkpointer.close()
        self._lock.release()

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


def _open(folder: Path, vfs: str | None, busy_seconds: float) -> _Opened:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as undo:
        lock = FolderLock(folder)
        undo.callback(lock.release)
        database = Database(folder / "everyagent.db", vfs, busy_seconds)
        connection = database.writer()
        undo.callback(connection.close)
        migrate(connection)
        blobs = Blobs(folder / "blobs")
        digests = connection.execute("SELECT DISTINCT digest FROM blobs").fetchall()
        blobs.sweep([cast("bytes", digest) for (digest,) in digests])
        sync_folder(folder)
        sync_folder(folder.parent)
        undo.pop_all()
    return _Opened(lock, database, connection, blobs)
