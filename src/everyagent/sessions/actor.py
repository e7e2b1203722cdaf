"""One live session: takes one input at a time, commits what its machine decides, carries out the effects.

The lock is the mailbox: inputs pass it first come, first served. It is never held while an agent is talked to,
so frames of a busy agent are always decoded.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, assert_never

import anyio

from everyagent.agents.adapter import Adapter, Conversation, Death, DecodedFrame
from everyagent.errors import AgentFailed, EveryagentError, KeyReused, StorageFull, StoreUnavailable
from everyagent.log.log import Append, Input, SessionRecord
from everyagent.logs import get_logger
from everyagent.model.asks import Answer
from everyagent.model.events import PermissionRequested, ToolRequested
from everyagent.sessions.agent_link import AgentCommand, AgentLink, ConversationListener
from everyagent.sessions.backlog import Backlog
from everyagent.sessions.commits import commit_failure
from everyagent.sessions.loading import Past
from everyagent.sessions.machine import effects, inputs
from everyagent.sessions.machine.active_turn import ActiveTurn
from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.machine import Machine
from everyagent.sessions.machine.projection import Projection
from everyagent.sessions.machine.state import state_of
from everyagent.sessions.refusals import AskNotOpen, cannot_stop_one, closed_ask, session_lost
from everyagent.sessions.session_context import SessionContext
from everyagent.sessions.tool_calls import OpenCalls

#: Makes a batch of the projection and the row as they are just before it is decided; None: nothing shall happen.
Plan: TypeAlias = Callable[[Projection | None, SessionRecord], inputs.Batch | None]
logger = get_logger(__name__)


class Actor:
    """`failure` is why the session was lost and must be loaded again; `reloaded_at` is when that was done."""

    def __init__(
        self,
        record: SessionRecord,
        adapter: Adapter,
        context: SessionContext,
        queue: Sequence[Input],
        past: Past,
        projection: Projection | None = None,
    ) -> None:
        self.users = 0
        self.idle_since = anyio.current_time()
        self.reloaded_at: float | None = None
        self.failure: Exception | None = None
        self._context = context
        masker = context.masker_of(record)
        self.machine = Machine(
            state_of(record, queue, context.prices, masker, past.answered, past.sequencer),
            title=adapter.title,
            capabilities=adapter.capabilities,
            limits=context.limits,
            projection=projection,
        )
        self._link = AgentLink(adapter, self, context.limits)
        self._appended: asyncio.Future[None] | None = None
        self._calls = OpenCalls()
        self._lock = asyncio.Lock()
        self._talk = asyncio.Lock()
        self._backlog = Backlog(context.backlog)
        self._interrupted: tuple[ActiveTurn, asyncio.Event] | None = None

    @property
    def record(self) -> SessionRecord:
        return self.machine.state.record

    @property
    def adapter(self) -> Adapter:
        return self._link.adapter

    @property
    def projected(self) -> bool:
        return self.machine.projection is not None

    @property
    def live(self) -> bool:
        return self._link.conversation is not None

    @property
    def talking(self) -> bool:
        """An agent is being started or stopped, or given a turn."""
        return self._talk.locked()

    @property
    def idle(self) -> bool:
        state, waits = self.machine.state, self._lock.locked() or self.talking or self.failure is not None
        return not waits and (state.parked or not (state.busy or state.queue))

    async def submit(self, command: inputs.Batch | Plan) -> Decision | None:
        """Take a command of a client: durable when this returns. A refused one changes nothing."""
        try:
            async with self._lock:
                if self.failure:
                    raise session_lost()
                batch = command if isinstance(command, inputs.Batch) else command(self.machine.projection, self.record)
                if batch is None:
                    return None
                decision, done = await self._take_batch(batch)
        except AskNotOpen as refused:
            raise await closed_ask(self._context.log, self.record.number, refused.ask_id) from None
        if done:
            await done.wait()
        return decision

    async def _take_batch(self, batch: inputs.Batch) -> tuple[Decision, asyncio.Event | None]:
        before = self.machine.snapshot()
        try:
            decision = self.machine.decide(batch, self._context.clock.micros())
        except EveryagentError:  # refused before anything was changed
            raise
        except Exception as error:
            self.lose(error)
            raise
        try:
            await self._commit(decision)
        except (StorageFull, StoreUnavailable, KeyReused):
            self.machine.restore(before)
            raise
        except Exception as error:
            self.lose(error)
            raise
        return decision, self._carry_out(decision)

    async def cancel_subagent(self, item_id: str) -> bool:
        """Stop the sub-agent that this call started; False if it does not run. The turn goes on."""
        if not self.adapter.capabilities.subagent_interrupt:
            raise cannot_stop_one(self.adapter.title)
        state, conversation = self.machine.state, self._link.conversation
        key = state.sequencer.key_of(item_id)
        return bool(key and conversation and state.turn and await conversation.interrupt_subagent(key))

    async def ask(self, request: PermissionRequested | ToolRequested) -> Answer | None:
        """Ask the client on the daemon's own account. None if no turn runs, or the turn ended first."""
        async with self._lock:
            decision = await self._take(inputs.ClientNeeded(request))
            if decision is None or decision.ask_id is None:
                return decision.granted if decision else None
            answer = self._calls.wait_for(decision.ask_id)
        return await answer

    async def next_turn(self) -> None:
        """Begin the next turn, if a message waits and no turn runs."""
        async with self._lock:
            await self._take(inputs.NextTurn())

    async def hibernate(self, restart: bool = False) -> None:
        """Let the idle agent go; the next message resumes it."""
        async with self._talk:
            async with self._lock:
                decision = await self._take(inputs.Hibernate(restart))
                conversation = self._link.drop() if decision and decision.accepted else None
            await self._link.close(conversation, force=False)

    @property
    def paused(self) -> asyncio.Lock:
        """While it is held, no agent is started, stopped or given a turn."""
        return self._talk

    async def terminate(self, *, if_unused: bool = False) -> None:
        """End the agent and everything it started, then the session. Idempotent. `if_unused`: unless it is in use."""
        if not if_unused:
            await self._stop(force=True)
        async with self._lock:
            if await self._take(inputs.Terminate(if_unused=if_unused)) is None:
                raise session_lost()

    async def shut_down(self) -> None:
        """The daemon stops. A running turn ends as interrupted; the session goes on with the next daemon."""
        await self._stop(force=self.machine.state.turn is not None)
        async with self._lock:
            await self._take(inputs.ShutDown())
        self._calls.close()

    async def recover(self, failure: Exception | None) -> None:
        """End what was open when the session was loaded."""
        async with self._lock:
            await self._take(inputs.Recover(None if failure is None else str(failure) or type(failure).__name__))
        if self.failure:
            raise self.failure

    async def received(self, listener: ConversationListener, frames: Sequence[DecodedFrame]) -> None:
        async with self._lock:
            if self._link.listens_to(listener):
                self._post(inputs.FramesReceived(frames))
        await self._backlog.room()

    async def died(self, listener: ConversationListener, death: Death) -> None:
        async with self._lock:
            if self._link.listens_to(listener):
                self._link.drop()
                decision = self._post(inputs.AgentDied(death))
                if decision and decision.append:
                    self._context.counts.deaths[self.adapter.name] += 1

    async def _stop(self, *, force: bool) -> None:
        """No turn begins any more, and the agent is gone, also one that was just starting."""
        async with self._lock:
            await self._take(inputs.NoMoreTurns())
        await self._link.close(self._link.conversation, force=force)
        await self._until_silent()

    async def discard(self) -> None:
        """End the agent of a session that was lost."""
        self._calls.close()
        await self._link.close(self._link.drop())
        await self._until_silent()

    async def _until_silent(self) -> None:
        """Until nobody talks to the agent."""
        with anyio.move_on_after(self._context.limits.close_limit):
            async with self._talk:
                return

    def _decide(self, input: inputs.SessionInput) -> Decision | None:
        """None if the session is lost, or lost by this."""
        if self.failure:
            return None
        try:
            return self.machine.decide(input, self._context.clock.micros())
        except Exception as error:  # noqa: BLE001 - the state may be half changed, so the session is loaded again
            self.lose(error)
            return None

    async def _take(self, input: inputs.SessionInput) -> Decision | None:
        """Decide, commit, carry out. None if the session is lost."""
        decision = self._decide(input)
        if decision is None:
            return None
        try:
            await self._commit(decision)
        except Exception as error:  # noqa: BLE001 - whatever it was, the log does not have what memory has
            self.lose(error)
            return None
        self._carry_out(decision)
        return decision

    def _post(self, input: inputs.SessionInput) -> Decision | None:
        """The same without waiting for the commit; the effects follow it."""
        decision = self._decide(input)
        if decision is None:
            return None
        if decision.append is None:
            self._carry_out(decision)
            return decision
        done = self._append(decision, decision.append)
        done.add_done_callback(partial(self._committed, decision, self._backlog.add(decision.append)))
        return decision

    async def _commit(self, decision: Decision) -> None:
        if decision.append is None:
            return
        done = self._append(decision, decision.append)
        try:
            await asyncio.wait((done,))
        except asyncio.CancelledError:  # whoever waits goes away, but the commit and its effects do not
            done.add_done_callback(partial(self._committed, decision, self._backlog.add(decision.append)))
            raise
        if error := commit_failure(done):
            raise error

    def _append(self, decision: Decision, append: Append) -> "asyncio.Future[None]":
        self._context.counts.count(self.record.agent, decision.transaction)
        self._appended = done = self._context.append(append, decision, self.machine.state.mask)
        return done

    def _committed(self, decision: Decision, size: int, done: "asyncio.Future[None]") -> None:
        self._backlog.remove(size)
        if error := commit_failure(done):
            self.lose(error)
        else:
            self._carry_out(decision)

    def lose(self, error: Exception) -> None:
        """Memory and log differ now, so nothing more is decided."""
        if self.failure is None:
            self.failure = error
            self._backlog.close()
            self._context.lost(self)

    def _carry_out(self, decision: Decision) -> asyncio.Event | None:
        """Starts the effects of a committed decision. The event is set when the agent has taken its commands."""
        if self.failure:
            return None
        spawn, commands = self._context.spawn, list[AgentCommand]()
        for effect in decision.effects:
            match effect:
                case effects.PromptAgent():
                    spawn(self._prompt, effect.turn, effect.delay)
                case effects.PassAnswer():
                    if not self._calls.answered(effect.ask_id, effect.answer):
                        commands.append(effect)
                case effects.SteerAgent() | effects.ChangeAgent() | effects.InterruptSubagent():
                    commands.append(effect)
                case effects.InterruptAgent():
                    self._interrupt(effect.turn)
                case effects.FinishTurn():
                    self.idle_since = asyncio.get_running_loop().time()
                    self._calls.turn_over()
                    if self._interrupted and self._interrupted[0] is effect.turn:
                        self._interrupted[1].set()
                        self._interrupted = None
                    spawn(self._after_turn)
                case effects.BeginNext():
                    spawn(self.next_turn)
                case effects.RestartAgent():
                    spawn(self.hibernate, True)
                case effects.CloseAgent():
                    spawn(self._link.close, self._link.conversation)
                case _:
                    assert_never(effect)
        for closed in decision.append.closed_asks if decision.append else ():  # those without an answer
            self._calls.answered(closed.ask_id, None)
        if not commands:
            return None
        done = asyncio.Event()
        spawn(self._command_agent, commands, done)
        return done

    async def _prompt(self, turn: ActiveTurn, delay: float) -> None:
        """Give the turn to the agent, started or resumed if it does not run."""
        machine = self.machine
        try:
            await anyio.sleep(delay)
            if turn is machine.state.turn:
                await self._context.turn_begins(self)
            if not await self._link.instructed(turn.prompt):
                await self.hibernate(restart=True)
            async with self._talk:
                await self._give(turn)
        except Exception as error:
            if turn is machine.state.turn:
                session_id, trace = self.record.session_id, None if isinstance(error, EveryagentError) else error
                logger.warning("an agent did not take its turn", session=session_id, error=str(error), exc_info=trace)
            async with self._lock:
                self._post(inputs.PromptFailed(turn, error))

    async def _give(self, turn: ActiveTurn) -> None:
        link, opened = self._link, None
        if turn is not self.machine.state.turn:
            return
        if link.conversation is None:
            await self._context.admit(self)
            opened = await link.open(await self._context.launch(self.machine))
            if opened is None:
                return
        async with self._lock:
            decision = self._post(self._ready(turn, opened)) if link.listening else None
            wanted = decision is not None and decision.accepted
            if wanted and opened:
                link.conversation = opened
        conversation = link.conversation
        if wanted and conversation and turn.prompt:
            await conversation.prompt(turn.prompt)
        elif opened:
            link.drop()
            await link.close(opened)

    def _ready(self, turn: ActiveTurn, opened: Conversation | None) -> inputs.AgentReady:
        return inputs.AgentReady(turn)

    async def _command_agent(self, commands: Sequence[AgentCommand], done: asyncio.Event) -> None:
        """Commands that the agent does not take are reported in the log."""
        try:
            for command in commands:
                try:
                    await self._command(command)
                except AgentFailed as error:
                    async with self._lock:
                        self._post(inputs.CommandFailed(error))
        finally:
            done.set()

    async def _command(self, command: AgentCommand) -> None:
        if isinstance(command, effects.InterruptSubagent):
            await self.cancel_subagent(command.item_id)
        elif not await self._link.command(command):
            async with self._lock:
                self._post(inputs.RestartNeeded())

    def _interrupt(self, turn: ActiveTurn) -> None:
        if self._interrupted is None or self._interrupted[0] is not turn:
            self._interrupted = (turn, asyncio.Event())
        if self._link.conversation:
            self._context.spawn(self._link.interrupt, self._link.conversation, self._interrupted[1])

    async def _after_turn(self) -> None:
        """Finishes the work that belongs to the turn, then begins the next one."""
        await self._context.turn_over(self)
        if self.machine.state.restart_wanted:
            await self.hibernate(restart=True)
        await self.next_turn()
