"""Which sessions are live: starts actors, lets idle ones go, picks up what a dead daemon left behind."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.abc

from everyagent.clock import Clock
from everyagent.errors import Unavailable
from everyagent.log.log import EventQuery, Log, SessionRecord
from everyagent.logs import get_logger
from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.prices import UNPRICED, Prices
from everyagent.sessions.actor import Actor
from everyagent.sessions.launch.agents import Agents
from everyagent.sessions.launch.launcher import Launcher
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine.projected_actor import ProjectedActor
from everyagent.sessions.machine.projection import Projections
from everyagent.sessions.machine.sequencer import Sequencer
from everyagent.sessions.session_context import SessionContext

logger = get_logger(__name__)


class Supervisor:
    def __init__(
        self,
        *,
        log: Log,
        agents: Agents,
        launcher: Launcher,
        tasks: anyio.abc.TaskGroup,
        clock: Clock,
        policy: Limits,
        prices: Prices = UNPRICED,
        views: Projections | None = None,
    ) -> None:
        self._log = log
        self._agents = agents
        self._tasks = tasks
        self._views = views
        self._policy = policy
        self._world = SessionContext(log, clock, policy, agents.counts, self._spawn, launcher.launch_for, prices)
        self._actors: dict[str, Actor] = {}
        self._loading: dict[str, asyncio.Lock] = {}
        self._closing = False

    def live(self, session_id: str) -> Actor | None:
        return self._actors.get(session_id)

    def actors(self) -> list[Actor]:
        return list(self._actors.values())

    @asynccontextmanager
    async def hold(self, session_id: str) -> AsyncGenerator[Actor]:
        """The session's actor, brought to life if need be; it stays while it is held."""
        actor = self._actors.get(session_id) or await self._load(session_id)
        if self._closing:  # asked after the wait: what was loaded meanwhile is not shut down by anybody
            raise Unavailable("The daemon is shutting down. Try again when it is back.")
        actor.users += 1
        try:
            yield actor
        finally:
            actor.users -= 1

    async def _load(self, session_id: str) -> Actor:
        lock = self._loading.setdefault(session_id, asyncio.Lock())
        async with lock:
            actor = self._actors.get(session_id)
            if actor is None:
                record = await self._log.claim(session_id)
                actor = self._actors[session_id] = await self._actor(record)
                self._loading.pop(session_id, None)
            return actor

    async def _actor(self, record: SessionRecord) -> Actor:
        inputs = await self._log.inputs(record.number)
        adapter = self._agents.adapter(record.agent)
        view = await self._views.open(record) if self._views else None
        if view is None or self._views is None:
            return Actor(record, adapter, self._world, inputs)
        return ProjectedActor(record, adapter, self._world, inputs, view, self._views)

    async def forget(self, session_id: str) -> None:
        """It has ended, and will be deleted."""
        if self._views:
            await self._views.going(session_id)
        self._actors.pop(session_id, None)

    def _spawn(self, function: Callable[..., object], *args: object) -> None:
        self._tasks.start_soon(self._guarded, function, args)

    async def _guarded(self, function: Callable[..., object], args: tuple[object, ...]) -> None:
        """One session's fault must not end the others: it is logged, and the daemon goes on."""
        try:
            await function(*args)  # pyright: ignore[reportGeneralTypeIssues]
        except Exception:
            logger.exception("a session's task failed")

    # -- life and rest --------------------------------------------------------------------------------------

    async def recover(self) -> None:
        """Tell the end of every turn that a dead daemon left open, then go on with what was queued."""
        for record in await self._log.unfinished():
            try:
                await self._recover(record)
            except Exception:
                logger.exception("a session could not be recovered", session=record.session_id)

    async def _recover(self, record: SessionRecord) -> None:
        if record.agent not in self._agents.names():
            return
        async with self.hold(record.session_id) as actor:
            record = actor.record
            if record.live or record.open_turn:
                await actor.recover(await self._observed(record))
            self._spawn(actor.advance)

    async def _observed(self, record: SessionRecord) -> Sequencer:
        order = Sequencer()
        after = record.open_turn - 1
        while record.open_turn:
            page = await self._log.events(EventQuery(session=record.number, after=after, limit=1000))
            for stored in page.events:
                data = decode_event(stored.body).data
                if not isinstance(data, UnknownData):
                    order.observe(data)
            if not page.more:
                break
            after = page.events[-1].sequence
        return order

    async def sweep(self) -> None:
        """For ever: agents that were idle for long go, actors without an agent or work are forgotten."""
        while True:
            await anyio.sleep(self._policy.sweep_every)
            for session_id, actor in list(self._actors.items()):
                if not actor.idle or actor.users:
                    continue
                if not actor.live:
                    del self._actors[session_id]
                elif anyio.current_time() - actor.idle_since > self._policy.idle_timeout:
                    self._spawn(actor.hibernate)

    async def close(self) -> None:
        """End every agent, tell what was cut; nothing new is taken."""
        self._closing = True
        async with anyio.create_task_group() as tasks:
            for actor in self._actors.values():
                tasks.start_soon(self._guarded, actor.shut_down, ())
        self._actors.clear()
