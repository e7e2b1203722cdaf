"""The log as the current principal sees it: the sessions of its workspace, and no others.

Everything above the log uses this one. A session's number comes from its row, so the row is where it is checked.
"""

import time
from asyncio import Future
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence

from msgspec.structs import replace

from everyagent.errors import SessionNotFound
from everyagent.log.audit import AuditEntry, AuditTrail
from everyagent.log.chunk import EventChunk
from everyagent.log.log import (
    Append,
    AskRecord,
    Charge,
    EventPage,
    EventQuery,
    FeedPosition,
    Input,
    JoinedPage,
    Log,
    NewEvent,
    NewFrame,
    Receipt,
    SessionQuery,
    SessionRecord,
    TailPair,
)
from everyagent.log.pending_audit import take_pending
from everyagent.log.projections import NewProjection, ProjectionQuery, ProjectionRecord, ProjectionStep
from everyagent.log.usage import UsageQuery, UsageRow
from everyagent.log.workspace_records import WorkspaceRecords
from everyagent.model.principals import current
from everyagent.model.sessions import FrameInfo, SearchHit

#: Sessions whose workspace the feed remembers.
_REMEMBERED = 10_000
_HEARTBEAT_SECONDS = 10.0


def require_visible(record: SessionRecord) -> SessionRecord:
    """Raises `SessionNotFound`, as for a session that does not exist."""
    if not current().sees(record.workspace):
        raise SessionNotFound(f"There is no session {record.session_id!r}. GET /v1/sessions lists those there are.")
    return record


class WorkspaceLog:
    """A `Log`. `charged` is called with the charges of each committed append, and with its session's number."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.identity = log.identity
        self._workspaces: OrderedDict[int, str] = OrderedDict()
        self.records = WorkspaceRecords(log.records)
        self.charged: Callable[[int, Sequence[Charge]], None] | None = None

    async def create(
        self,
        record: SessionRecord,
        events: Sequence[NewEvent],
        frames: Sequence[NewFrame] = (),
        receipt: Receipt | None = None,
        projection: NewProjection | None = None,
        audit: AuditEntry | None = None,
    ) -> SessionRecord:
        record = replace(record, workspace=current().creates_in)
        audit = audit or take_pending(session_id=record.session_id)
        return await self._log.create(record, events, frames, receipt, projection, audit)

    async def claim(self, session_id: str) -> SessionRecord:
        await self.session(session_id)
        return await self._log.claim(session_id)

    def append(self, append: Append, *, patient: bool = False) -> "Future[None]":
        append.audit = append.audit or take_pending()
        done = self._log.append(append, patient=patient)
        if append.charges and self.charged:
            charged = self.charged
            done.add_done_callback(lambda done: _committed(done) and charged(append.session, append.charges))
        return done

    async def inputs(self, session: int) -> list[Input]:
        return await self._log.inputs(session)

    async def session(self, session_id: str) -> SessionRecord:
        return require_visible(await self._log.session(session_id))

    async def session_by_number(self, number: int) -> SessionRecord:
        return require_visible(await self._log.session_by_number(number))

    async def sessions(self, query: SessionQuery) -> list[SessionRecord]:
        return await self._log.sessions(replace(query, workspace=current().workspace))

    async def open_sessions(self) -> int:
        return await self._log.open_sessions()

    async def size(self) -> int:
        return await self._log.size()

    async def unfinished(self) -> list[SessionRecord]:
        return await self._log.unfinished()

    async def delete(self, session_id: str, audit: AuditEntry | None = None) -> None:
        await self.session(session_id)
        await self._log.delete(session_id, audit or take_pending())

    async def events(self, query: EventQuery) -> EventPage:
        return await self._log.events(query)

    async def joined(self, session_id: str, query: EventQuery, *, projection: bool = False) -> JoinedPage:
        if current().workspace is not None:
            await self.session(session_id)
        return await self._log.joined(session_id, query, projection=projection)

    async def projection(self, session_id: str) -> ProjectionRecord:
        found = await self._log.projection(session_id)
        if not current().sees(found.workspace):
            raise SessionNotFound(f"There is no session {session_id!r}. GET /v1/sessions lists those there are.")
        return found

    async def projections(self, query: ProjectionQuery) -> list[ProjectionRecord]:
        return await self._log.projections(replace(query, workspace=current().workspace))

    async def rewrite_projection(self, session: int, step: ProjectionStep, times: Sequence[int]) -> None:
        await self._log.rewrite_projection(session, step, times)

    async def frames(self, session: int, after: int, limit: int) -> tuple[list[FrameInfo], bool]:
        return await self._log.frames(session, after, limit)

    async def asks(self, session: int | None, *, pending: bool, workspace: str | None = None) -> list[AskRecord]:
        return await self._log.asks(session, pending=pending, workspace=_narrowed(workspace))

    async def ask(self, session: int, ask_id: str) -> AskRecord | None:
        return await self._log.ask(session, ask_id)

    async def receipt(self, key: str) -> Receipt | None:
        return await self._log.receipt(key)

    async def keep_receipt(self, receipt: Receipt) -> None:
        await self._log.keep_receipt(receipt)

    async def search(self, text: str, session: int | None, limit: int, workspace: str | None = None) -> list[SearchHit]:
        return await self._log.search(text, session, limit, _narrowed(workspace))

    def tail(self, session: int, after: int) -> AsyncIterator[EventChunk | None]:
        return self._log.tail(session, after)

    def paired_tail(self, session: int, after: int, projection_after: int) -> AsyncIterator[TailPair | None]:
        return self._log.paired_tail(session, after, projection_after)

    def feed(self, after: FeedPosition | None) -> AsyncIterator[EventChunk | None]:
        workspace = current().workspace
        chunks = self._log.feed(after)
        return chunks if workspace is None else self._only(chunks, workspace)

    async def _only(self, chunks: AsyncIterator[EventChunk | None], workspace: str) -> AsyncIterator[EventChunk | None]:
        """The chunks of one workspace. Heartbeats come also while only others are busy."""
        last = time.monotonic()
        async for chunk in chunks:
            if chunk is not None and await self._workspace(chunk.session) != workspace:
                if time.monotonic() - last < _HEARTBEAT_SECONDS:
                    continue
                chunk = None
            last = time.monotonic()
            yield chunk

    async def _workspace(self, session: int) -> str:
        """The workspace of a session, which never changes; empty for one that was deleted."""
        known = self._workspaces.get(session)
        if known is None:
            try:
                known = (await self._log.session_by_number(session)).workspace
            except SessionNotFound:
                return ""
            self._workspaces[session] = known
            if len(self._workspaces) > _REMEMBERED:
                self._workspaces.popitem(last=False)
        return known

    def head(self, session: int) -> int | None:
        return self._log.head(session)

    @property
    def last_commit(self) -> int:
        return self._log.last_commit

    async def reseal(self, anew: Callable[[bytes, str], bytes]) -> int:
        return await self._log.reseal(anew)

    async def spending(self) -> dict[str, float]:
        return await self._log.spending()

    async def usage(self, query: UsageQuery) -> list[UsageRow]:
        return await self._log.usage(replace(query, workspace=_narrowed(query.workspace)))

    @property
    def audit(self) -> AuditTrail:
        return self._log.audit

    @property
    def full(self) -> bool:
        return self._log.full

    @property
    def damaged(self) -> int:
        return self._log.damaged

    @property
    def lost(self) -> str:
        return self._log.lost

    async def close(self) -> None:
        await self._log.close()


def _narrowed(workspace: str | None) -> str | None:
    own = current().workspace
    return workspace if own is None else own


def _committed(done: "Future[None]") -> bool:
    return not done.cancelled() and done.exception() is None
