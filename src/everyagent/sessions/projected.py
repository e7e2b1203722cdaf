"""Sessions that have a projection, for the API that shows it."""

from collections.abc import AsyncIterator, Callable, Sequence

from msgspec.structs import replace

from everyagent.clock import Clock
from everyagent.errors import NotFound
from everyagent.log.chunk import EventChunk
from everyagent.log.log import EventPage, EventQuery, JoinedPage, Log, SessionRecord, TailPair
from everyagent.log.projections import PROJECTION, NewProjection, ProjectionQuery, ProjectionRecord, ProjectionStep
from everyagent.model.sessions import CreateSession, SessionInfo
from everyagent.model.tools import CustomTool
from everyagent.sessions.creation import Creation, RecordReceipt
from everyagent.sessions.machine.inputs import Batch
from everyagent.sessions.machine.projection import Projection
from everyagent.sessions.refusals import require_writable
from everyagent.sessions.supervisor import Supervisor


class ProjectedSessions:
    def __init__(self, log: Log, supervisor: Supervisor, creation: Creation, clock: Clock) -> None:
        self.log = log
        self.clock = clock
        self._supervisor = supervisor
        self._creation = creation

    async def create(
        self,
        session_id: str,
        request: CreateSession,
        projection: NewProjection,
        receipt: RecordReceipt | None = None,
        own_tools: Sequence[CustomTool] = (),
    ) -> SessionInfo:
        """`own_tools` are tools that the projection runs."""
        require_writable(self.log)
        return await self._creation.create(session_id, request, receipt, projection, own_tools)

    async def submit(self, session_id: str, plan: Callable[[Projection], Batch]) -> None:
        """`plan` sees the projection as it is just before the batch is decided; it may refuse by raising."""
        await self.change(session_id, lambda projection, _: plan(projection))

    async def change(self, session_id: str, plan: Callable[[Projection, SessionRecord], Batch | None]) -> None:
        """The same for a plan that depends on the session's row as well. None: nothing shall happen."""

        def planned(projection: Projection | None, record: SessionRecord) -> Batch | None:
            if projection is None:
                raise NotFound(f"There is no managed session {session_id!r}.")
            batch = plan(projection, record)
            if batch and batch.submission:
                self._supervisor.require_agent(actor)
            return batch

        require_writable(self.log)
        async with self._supervisor.hold(session_id) as actor:
            await actor.submit(planned)

    async def find(self, session_id: str) -> tuple[SessionRecord, ProjectionRecord]:
        projection = await self.log.projection(session_id)
        return await self.log.session(session_id), projection

    async def list(self, query: ProjectionQuery) -> list[ProjectionRecord]:
        return await self.log.projections(query)

    async def page(self, session_id: str, query: EventQuery) -> JoinedPage:
        return await self.log.joined(session_id, query, projection=True)

    async def event_page(self, session: int, query: EventQuery) -> EventPage:
        """The same with each event's number and type."""
        return await self.log.events(replace(query, session=session | PROJECTION))

    def tail(self, session: int, after: int) -> AsyncIterator[EventChunk | None]:
        return self.log.tail(session | PROJECTION, after)

    def paired_tail(self, session: int, after: int, projection_after: int) -> AsyncIterator[TailPair | None]:
        return self.log.paired_tail(session, after, projection_after)

    async def rewrite(self, session: int, step: ProjectionStep, times: "list[int]") -> None:
        await self.log.rewrite_projection(session, step, times)
