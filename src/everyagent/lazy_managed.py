"""The Managed Agents services of a daemon, loaded at their first use, and the crash recovery of managed sessions."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

import anyio.abc

from everyagent.agents.adapter import Launch
from everyagent.errors import OwnedElsewhere
from everyagent.log.log import Log, SessionRecord
from everyagent.log.projections import ProjectionQuery, ProjectionRecord
from everyagent.log.records import Record, RecordQuery
from everyagent.logs import get_logger
from everyagent.model.asks import ToolAnswer
from everyagent.model.parts import Json
from everyagent.model.principals import EventActor, acting_in
from everyagent.sessions import Sessions
from everyagent.sessions.machine.projection import Projection, Projections

if TYPE_CHECKING:
    from everyagent.managed.managed import Managed

T = TypeVar("T")
#: Those of the sessions with these ids that no living node owns.
WithoutOwner: TypeAlias = Callable[[Iterable[str]], Awaitable[set[str]]]
#: The maximum number of records of each kind that crash recovery handles.
_RECOVERED = 10_000
#: The prefixes of the ids of managed sessions, and of those that run threads of their rosters.
_MANAGED: Final = ("sesn_", "sthr_")
logger = get_logger(__name__)


class Unfinished(NamedTuple):
    """The work on managed sessions that a dead daemon had begun and not ended."""

    running: Sequence[ProjectionRecord]
    initial_events: Sequence[Record]
    memory: Sequence[Record]


class LazyManaged:
    """The `Managed` services of a daemon, shared by the API and the session projections; loaded at the first use."""

    sessions: Sessions

    @cached_property
    def managed(self) -> "Managed":
        from everyagent.managed.managed import Managed

        self._loaded.set()
        return Managed(self.sessions)

    @cached_property
    def _loaded(self) -> asyncio.Event:
        return asyncio.Event()

    @cached_property
    def _projections(self) -> Projections:
        from everyagent.managed.sessions.session_setup import ManagedProjections

        return ManagedProjections(self.managed)

    async def open(self, record: SessionRecord) -> Projection | None:
        return await self._projections.open(record) if record.session_id.startswith(_MANAGED) else None

    async def launch(self, record: SessionRecord, launch: Launch) -> Launch:
        return await self._projections.launch(record, launch)

    async def turn_begins(self, projection: Projection, session_id: str) -> None:
        await self._projections.turn_begins(projection, session_id)

    async def turn_over(self, session_id: str) -> None:
        await self._projections.turn_over(session_id)

    async def run_tool(self, record: SessionRecord, payer: EventActor | None, name: str, input: Json) -> ToolAnswer:
        return await self._projections.run_tool(record, payer, name, input)

    async def ended(self, session_id: str) -> None:
        await self._projections.ended(session_id)

    async def going(self, session_id: str) -> None:
        if session_id.startswith(_MANAGED):
            await self._projections.going(session_id)

    async def unfinished(self, log: Log, without_owner: WithoutOwner | None = None) -> "Unfinished":
        """The unfinished work of an earlier daemon. In a cluster, only of sessions that no living node owns."""
        running = await log.projections(ProjectionQuery(statuses=["running"], limit=_RECOVERED))
        initial_events = await log.records.page(RecordQuery(kind="session_beginning", order="asc", limit=_RECOVERED))
        memory = await log.records.page(RecordQuery(kind="open_session_memory", order="asc", limit=_RECOVERED))
        if without_owner is not None:
            named = [projection.session_id for projection in running]
            named += [record.id.removeprefix("begin_") for record in initial_events]
            named += [record.key or "" for record in memory]
            left = await without_owner(named) if named else set[str]()
            running = [each for each in running if each.session_id in left]
            initial_events = [each for each in initial_events if each.id.removeprefix("begin_") in left]
            memory = [each for each in memory if each.key in left]
        return Unfinished(running, initial_events, memory)

    def recover(self, left: "Unfinished", tasks: anyio.abc.TaskGroup) -> None:
        """Continue outcome grading, session creation and memory commits."""
        for projection in left.running:
            tasks.start_soon(self._guarded, self._turn_over, projection)
        if left.initial_events:
            tasks.start_soon(self._guarded, self.managed.initial_events.recover, left.initial_events)
        if left.memory:
            tasks.start_soon(self._guarded, self.managed.mounts.recover, left.memory)

    async def run_deployments(self, log: Log) -> None:
        """Starts scheduled runs. Without deployments, the services are not loaded for it."""
        alone = self.sessions.services.node is None
        if alone and not await log.records.page(RecordQuery(kind="deployment", limit=1)):
            await self._loaded.wait()
        await self.managed.scheduler.run()

    async def report_threads(self) -> None:
        """Reports the threads of rosters that are at work to their coordinators."""
        await self._loaded.wait()
        await self.managed.reports.run()

    async def _turn_over(self, projection: ProjectionRecord) -> None:
        with acting_in(projection.workspace):
            await self.turn_over(projection.session_id)
            await self.managed.reports.catch_up(projection.session_id)

    async def _guarded(self, function: Callable[[T], Awaitable[None]], what: T) -> None:
        """Log a failed recovery, so that the others continue."""
        try:
            await function(what)
        except OwnedElsewhere:
            logger.info("another node continues what a dead one left unfinished")
        except Exception:
            logger.exception("crash recovery failed", what=what)
