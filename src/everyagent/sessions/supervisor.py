"""Which sessions are live: loads them, recovers what was open, lets idle ones go."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.abc
from anyio import to_thread

from everyagent.clock import Clock
from everyagent.errors import LogFenced, OwnedElsewhere, SessionHasEnded, SessionNotFound, UnknownAgent
from everyagent.log.log import Log, SessionRecord
from everyagent.log.pending_audit import set_pending
from everyagent.log.workspace_log import require_visible
from everyagent.logs import get_logger
from everyagent.model.asks import ToolAnswer
from everyagent.model.parts import Json
from everyagent.model.prices import UNPRICED, Prices
from everyagent.model.principals import DAEMON, Principal, set_current
from everyagent.sessions.actor import Actor
from everyagent.sessions.ask_deadlines import AskDeadlines
from everyagent.sessions.backlog import TotalBacklog
from everyagent.sessions.checkpoints import Checkpoints
from everyagent.sessions.counts import Counts
from everyagent.sessions.isolated_faults import faults_of
from everyagent.sessions.launch.agents import Agents
from everyagent.sessions.launch.config import config_of, node_with
from everyagent.sessions.launch.launcher import Launcher
from everyagent.sessions.limits import Limits
from everyagent.sessions.loading import past_of
from everyagent.sessions.locks import Locks
from everyagent.sessions.machine.inputs import Batch
from everyagent.sessions.machine.projection import Projections
from everyagent.sessions.refusals import shutting_down
from everyagent.sessions.runner_sessions import RunnerSessions
from everyagent.sessions.running_agents import RunningAgents
from everyagent.sessions.session_context import SessionContext
from everyagent.sessions.tool_calls import UNANSWERED
from everyagent.sessions.watchdog import Watchdog

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
        limits: Limits,
        prices: Prices = UNPRICED,
        projections: Projections | None = None,
        runners: RunnerSessions | None = None,
        checkpoints: Checkpoints | None = None,
        node: str | None = None,
    ) -> None:
        """`node` is the name of this node of a cluster."""
        self._runners = runners or RunnerSessions()
        self._log = log
        self._agents = agents
        self._tasks = tasks
        self._projections = projections
        self._limits = limits
        self._running = RunningAgents(limits.max_agents)
        self._watchdog = Watchdog(limits, self._spawn_in)
        self._deadlines = AskDeadlines(clock, self._spawn_in)
        self._context = SessionContext(
            log=log,
            clock=clock,
            limits=limits,
            backlog=TotalBacklog(limits),
            counts=Counts(),
            spawn=self._spawn,
            launch_for=launcher.launch_for,
            prices=prices,
            projections=projections,
            lost=self._lost,
            admit=self._running.admit,
            masker_of=launcher.masker_of,
            seal_input=launcher.seal_input,
            checkpoints=checkpoints,
            node=node,
        )
        self._launcher = launcher
        self._actors: dict[str, Actor] = {}
        self._loading = Locks()
        self._reloading: set[str] = set()
        self._closing = False
        self._own_calls: set[anyio.CancelScope] = set()
        #: In a cluster: lets another node have a session, as soon as it has ended here.
        self.release: Callable[[int], Awaitable[None]] | None = None
        self._deferred: asyncio.Queue[tuple[str | None, Callable[..., object], tuple[object, ...]]] = asyncio.Queue()
        tasks.start_soon(self._start_deferred)

    def live(self, session_id: str) -> bool:
        """Whether the session is in memory."""
        return session_id in self._actors

    @property
    def closing(self) -> bool:
        return self._closing

    def require_agent(self, actor: Actor) -> None:
        """Refuses a message before it is stored, if no agent could be started for it."""
        self._running.require_room(actor)

    async def run_own_tool(self, actor: Actor, name: str, input: Json) -> ToolAnswer:
        """Runs a tool of the session's projection, for the running turn. It fails when the daemon stops."""
        turn, payer = actor.machine.state.turn, actor.machine.state.position.payer
        if self._projections is None or turn is None:
            return ToolAnswer(output=UNANSWERED, is_error=True)
        with anyio.CancelScope() as call:
            self._own_calls.add(call)
            turn.own_calls += 1
            try:
                return await self._projections.run_tool(actor.record, payer, name, input)
            finally:
                turn.own_calls -= 1
                self._own_calls.discard(call)
        return ToolAnswer(output=UNANSWERED, is_error=True)

    def actors(self) -> list[Actor]:
        return list(self._actors.values())

    @asynccontextmanager
    async def hold(self, session_id: str) -> AsyncGenerator[Actor]:
        """The session's actor, loaded if need be; it stays in memory while it is held."""
        actor = self._actors.get(session_id)
        if actor is None or actor.failure:
            actor = await self._load(session_id)
        require_visible(actor.record)
        if self._closing:  # checked after the load: nobody shuts down an actor that was loaded meanwhile
            raise shutting_down()
        actor.users += 1
        try:
            yield actor
        finally:
            actor.users -= 1

    async def _load(self, session_id: str) -> Actor:
        """Load the session and end what was open in it, before anything else can happen to it."""
        async with self._loading.hold(session_id):
            lost = self._actors.get(session_id)
            if lost and not lost.failure:
                return lost
            if lost:
                await lost.discard()
            record = await self._log.claim(session_id)
            context = self._context._replace(
                spawn=partial(self._spawn_in, record.workspace), counts=self._agents.all_counts.of(record.workspace)
            )
            waiting = await self._log.inputs(record.number)
            queue = [self._launcher.open_input(input, session_id) for input in waiting]
            projection = await self._projections.open(record) if self._projections else None
            past = await past_of(self._log, record)
            adapter = self._agents.adapter(record.agent)
            if config_of(record).runner is None:
                actor = Actor(record, adapter, context, queue, past, projection)
            else:
                actor = self._runners.actor(record, adapter, context, queue, past, projection, resumes=lost is None)
            if (record.live or record.open_turn) and not actor.live:
                await actor.recover(lost.failure if lost else None)
            actor.reloaded_at = anyio.current_time() if lost else None
            self._actors[session_id] = actor
            if queue and not self._closing:
                context.spawn(actor.next_turn)
            return actor

    def interrupt(self, session: int, batch: Batch) -> None:
        """Submits a batch that stops the running turn, if the session with this number is in memory."""
        for actor in self._actors.values():
            if actor.record.number == session:
                self._spawn(self._submit_if_open, actor, batch)

    async def _submit_if_open(self, actor: Actor, batch: Batch) -> None:
        with suppress(SessionHasEnded):
            await actor.submit(batch)

    async def ended(self, actor: Actor) -> None:
        """A client has ended the session."""
        if self._projections and actor.projected:
            await self._projections.ended(actor.record.session_id)

    async def forget(self, session_id: str) -> None:
        """The session has ended, and will be deleted."""
        if self._projections:
            await self._projections.going(session_id)
        self._actors.pop(session_id, None)

    def _spawn(self, function: Callable[..., object], *args: object) -> None:
        self._spawn_in(None, function, *args)

    def _spawn_in(self, workspace: str | None, function: Callable[..., object], *args: object) -> None:
        """The task acts for the daemon, in this workspace, whoever caused it."""
        if asyncio.current_task():
            self._tasks.start_soon(self._guarded, workspace, function, args)
        else:  # in the callback of a commit, where anyio starts no tasks
            self._deferred.put_nowait((workspace, function, args))

    async def _start_deferred(self) -> None:
        while True:
            self._tasks.start_soon(self._guarded, *await self._deferred.get())

    async def _guarded(self, workspace: str | None, function: Callable[..., object], args: tuple[object, ...]) -> None:
        """A fault in one session is logged, and does not end the others."""
        set_current(DAEMON if workspace is None else Principal(workspace=workspace, creates_in=workspace))
        set_pending(None)
        try:
            await function(*args)  # pyright: ignore[reportGeneralTypeIssues]
        except Exception:
            logger.exception("a session's task failed")

    # -- recovery -------------------------------------------------------------------------------------------

    async def recover(self) -> None:
        """Load every session that a dead daemon left unfinished, or whose asks have a deadline.

        One that cannot be loaded now is tried again. In a cluster, sessions with waiting messages for which there is no
        room here are left to other nodes, or to the next call.
        """
        unfinished = [each for each in await self._log.unfinished() if each.agent in self._agents.names()]
        left = {each.session_id for each in unfinished if each.queued_inputs and self.release is not None}
        with_deadline = await self._deadlines.sessions(self._log)
        for session_id in dict.fromkeys([*(each.session_id for each in unfinished), *with_deadline]):
            if session_id in left and self._running.room(self._actors.values()) < 1:
                continue
            if not await self._loaded(session_id):
                self._start_reloading(session_id, self._limits.reload_delay)

    def _lost(self, actor: Actor) -> None:
        """Memory and log of a session may differ: it is loaded again, unless another daemon has it now."""
        session_id, error = actor.record.session_id, actor.failure
        logger.error("a session was lost, because its events were not committed", session=session_id, exc_info=error)
        if self._closing:
            return
        if isinstance(error, LogFenced):
            if self._actors.get(session_id) is actor:
                del self._actors[session_id]
            self._spawn(actor.discard)
        else:
            most = self._limits.reload_delay_most
            again = actor.reloaded_at is not None and asyncio.get_running_loop().time() - actor.reloaded_at < most
            self._start_reloading(session_id, most if again else 0)

    async def abandon(self) -> None:
        """Another node may have every session now: ends the agents, and forgets the sessions."""
        actors = self.actors()
        for actor in actors:
            actor.lose(LogFenced("This node was removed from its cluster.", actor.record.last_sequence))
        async with anyio.create_task_group() as tasks:
            for actor in actors:
                tasks.start_soon(self._guarded, actor.record.workspace, actor.discard, ())

    def _start_reloading(self, session_id: str, delay: float) -> None:
        if session_id not in self._reloading:
            self._reloading.add(session_id)
            self._spawn(self._reload, session_id, delay)

    async def _reload(self, session_id: str, delay: float) -> None:
        """A session that is lost again as soon as it is loaded must not keep the daemon busy: it waits first."""
        try:
            await anyio.sleep(delay)
            delay = self._limits.reload_delay
            while not self._closing and not await self._loaded(session_id):
                await anyio.sleep(delay)
                delay = min(2 * delay, self._limits.reload_delay_most)
        finally:
            self._reloading.discard(session_id)

    async def _loaded(self, session_id: str) -> bool:
        """Whether the session is loaded, or never will be."""
        try:
            async with self.hold(session_id):
                return True
        except (SessionNotFound, UnknownAgent, OwnedElsewhere):
            self._actors.pop(session_id, None)
            return True
        except Exception as error:
            logger.warning("a session could not be loaded, and is tried again", session=session_id, exc_info=error)
            return False

    # -- rest and end ---------------------------------------------------------------------------------------

    async def sweep(self) -> None:
        """For ever: hibernate agents that were idle for long, forget actors without an agent or work."""
        self._spawn(self._launcher.scratch.sweep, self._log.session_by_number)
        while True:
            await anyio.sleep(self._limits.sweep_every)
            self._watchdog.look(self._actors, anyio.current_time())
            self._deadlines.look(self._actors)
            for session_id, actor in list(self._actors.items()):
                with faults_of(session_id):
                    self._let_go(session_id, actor)

    def _let_go(self, session_id: str, actor: Actor) -> None:
        if not actor.idle or actor.users or actor.machine.state.sequencer.asks.expiring:
            return
        long = anyio.current_time() - actor.idle_since > self._limits.idle_timeout
        if not actor.live and (
            long or not actor.machine.state.dies
        ):  # the deaths in a row of an agent are counted in memory
            del self._actors[session_id]
            if actor.record.status == "ended":
                self._spawn(self._launcher.scratch.remove, actor.record.number)
                self._runners.forget(actor.record)
            elif self.release is not None and config_of(actor.record).node not in (None, self._context.node):
                self._spawn(self._give_back, actor.record)
        elif actor.live and long:
            self._spawn(actor.hibernate)

    async def _give_back(self, record: SessionRecord) -> None:
        """To the node that has the session's directory, if this one has not."""
        config = config_of(record)
        other = await to_thread.run_sync(node_with, Path(config.directory), config, self._context.node)
        async with self._loading.hold(record.session_id):
            if other and self.release is not None and record.session_id not in self._actors:
                await self.release(record.number)

    async def close(self) -> None:
        """End every agent and every turn; nothing new is taken."""
        self._closing = True
        for call in self._own_calls:
            call.cancel()
        async with anyio.create_task_group() as tasks:
            for actor in self._actors.values():
                tasks.start_soon(self._guarded, actor.record.workspace, self._end, (actor,))
        self._actors.clear()

    async def _end(self, actor: Actor) -> None:
        await (actor.discard() if actor.failure else actor.shut_down())
        if self.release is not None:
            await self.release(actor.record.number)
