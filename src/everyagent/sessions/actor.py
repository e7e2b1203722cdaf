"""One live session: its turns, its agent, its asks. Everything that happens to it happens here, in order.

The lock is the mailbox: commands and frames pass it first come, first served. It is never held while an agent
is talked to, so an agent that is busy talking can always be heard.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import anyio
import msgspec
from msgspec.structs import replace

from everyagent.agents.adapter import Adapter, Change, Conversation, Death, Heard, NativeSession
from everyagent.errors import AgentFailed
from everyagent.log.log import Input, Receipt, SessionRecord
from everyagent.logs import get_logger
from everyagent.model.asks import Answer, ToolAnswer
from everyagent.model.events import PermissionRequested, SessionEnded, SessionStatus, ToolRequested
from everyagent.model.ids import new_id
from everyagent.model.sessions import SendMessage
from everyagent.sessions.agent_link import Ear, Link
from everyagent.sessions.machine import endings
from everyagent.sessions.machine.asks import ask_id_of
from everyagent.sessions.machine.messages import prompt_of, user_item
from everyagent.sessions.machine.projection import Projection
from everyagent.sessions.machine.sequencer import Emission, Sequencer
from everyagent.sessions.machine.session_update import Update
from everyagent.sessions.machine.step import Step
from everyagent.sessions.machine.turn import Turn
from everyagent.sessions.machine.writer import Journal
from everyagent.sessions.refusals import cannot_steer, cannot_stop_one, closed_ask
from everyagent.sessions.session_context import SessionContext
from everyagent.sessions.tool_calls import Waiting

logger = get_logger(__name__)


class Actor:
    def __init__(
        self,
        record: SessionRecord,
        adapter: Adapter,
        context: SessionContext,
        inputs: Sequence[Input],
        view: Projection | None = None,
    ) -> None:
        self.users = 0
        self.idle_since = anyio.current_time()
        self._log = context.log
        self._policy = context.policy
        self._spawn = context.spawn
        self._launch_for = context.launch_for
        self._counts = context.counts
        self._journal = Journal(record, context, self._disown, view)
        self._link = Link(adapter, self, context.policy)
        self._inputs = deque(inputs)
        self._turn: Turn | None = None
        self._waiting = Waiting()
        self._lock = asyncio.Lock()
        self._talk = asyncio.Lock()
        self._restart_when_idle = False
        self._ending = False

    @property
    def record(self) -> SessionRecord:
        return self._journal.record

    @property
    def adapter(self) -> Adapter:
        return self._link.adapter

    @property
    def live(self) -> bool:
        return self._link.conversation is not None

    @property
    def idle(self) -> bool:
        return not self._journal.busy and not self._inputs and not self._lock.locked() and not self._talk.locked()

    # -- commands -------------------------------------------------------------------------------------------

    async def send(self, message: SendMessage, receipt: Callable[[str], Receipt] | None) -> str:
        """Take a message in: durable when this returns. Its turn comes by itself."""
        item_id = new_id("itm_")
        body = msgspec.json.encode(message)
        kept = receipt(item_id) if receipt else None
        async with self._lock:
            self._journal.refuse_if_ended()
            conversation = self._link.conversation
            steered = message.delivery == "steer" and self._turn is not None and conversation is not None
            if steered:
                if not self.adapter.capabilities.steering:
                    raise cannot_steer(self.adapter.title)
                step = self._journal.begin("from_client", body)
                step.tell(self._journal.order.say(user_item(item_id, message)))
                step.receipt = kept
                await self._journal.write(step)
            else:
                input = Input(item_id=item_id, body=body)
                await self._log.enqueue(self.record.number, input, kept)
                self._inputs.append(input)
        if steered and conversation:
            await self._told(conversation.steer(prompt_of(item_id, message)))
        else:
            self._spawn(self.advance)
        return item_id

    async def cancel(self) -> bool:
        """Stop the running turn, or the one about to begin; False if there is none. How it ended, the log tells."""
        async with self._lock:
            turn = self._turn or await self._start_turn()
            if not turn:
                return False
            turn.cancelled = True
            conversation = self._link.conversation if turn.prompted else None
            if not conversation:
                step = self._journal.begin("from_client", {"request": "cancel"})
                step.tell(self._journal.order.end_turn("interrupted", "The turn was cancelled."))
                self._turn_over(step)
                await self._journal.write(step, patient=True)
        if conversation:
            self._spawn(self._link.interrupt, conversation, turn.over)
        else:
            self._spawn(self.advance)
        return True

    async def cancel_subagent(self, item_id: str) -> bool:
        """Stop the sub-agent that this call started; False if it does not run. The turn goes on."""
        if not self.adapter.capabilities.subagent_interrupt:
            raise cannot_stop_one(self.adapter.title)
        key, conversation = self._journal.order.key_of(item_id), self._link.conversation
        return bool(key and conversation and self._turn and await conversation.interrupt_subagent(key))

    async def update(self, plan: Callable[[SessionRecord], Update | None]) -> None:
        """`plan` sees the session's row as it is just before the step."""
        async with self._lock:
            self._journal.refuse_if_ended()
            if (update := plan(self.record)) is None:
                return
            step = self._journal.begin("from_client", {"request": "update", "changes": update.updated})
            step.tell([Emission(update.updated, True)])
            step.change(config=update.config)
            await self._journal.write(step)
            conversation = self._link.conversation if update.change != Change() else None
        if conversation and await self._told(conversation.change(update.change)) is False:
            self._restart_when_idle = True
            self._spawn(self.hibernate, True)

    async def answer(self, ask_id: str, answer: Answer) -> None:
        """The first answer counts; it is on disk before the agent hears it."""
        async with self._lock:
            asks = self._journal.order.asks
            ask = asks.pending(ask_id)
            if ask is None:
                raise await closed_ask(self._log, self.record.number, ask_id)
            resolution = asks.resolve(ask_id, answer)
            step = self._journal.begin("from_client", msgspec.json.encode(answer))
            step.tell([Emission(resolution, True)])
            if len(asks) == 1:
                self._journal.set_status(step, "running" if self._turn else "idle")
            await self._journal.write(step)
            asks.forget(resolution)
        await self._pass_on(ask_id, ask.key, answer)

    async def _pass_on(self, ask_id: str, key: str, answer: Answer) -> None:
        """To whoever asked; after it is on disk."""
        conversation = self._link.conversation
        if not self._waiting.answered(ask_id, answer) and conversation and not isinstance(answer, ToolAnswer):
            await self._told(conversation.answer(key, answer))

    async def ask(self, request: PermissionRequested | ToolRequested) -> Answer | None:
        """Ask the client on the daemon's own account. None if no turn runs, or the turn ended first."""
        async with self._lock:
            if not self._turn:
                return None
            step = self._journal.begin("from_agent", {"ask": request})
            emissions = self._journal.order.apply(request)
            step.tell(emissions)
            self._journal.settle(step)
            await self._journal.write(step, patient=True)
            asked = next(data for data, _ in emissions if isinstance(data, type(request)))
            waiting = self._waiting.wait_for(ask_id_of(asked))
        return await waiting

    async def terminate(self) -> None:
        """End the agent and everything it started, then the session. Idempotent."""
        await self._stop(force=True)
        async with self._lock:
            if self._journal.ended:
                return
            step = self._journal.begin("from_client", {"request": "terminate"})
            step.tell(self._journal.order.end_turn("terminated", "The session was terminated."))
            step.tell([Emission(SessionEnded(reason="terminated", terminated_by="daemon"), True)])
            self._session_over(step)
            self._turn_over(step)
            await self._journal.write(step, patient=True)

    async def shut_down(self) -> None:
        """The daemon stops. A running turn is told as interrupted; the session goes on with the next daemon."""
        had_agent = self.live
        await self._stop(force=self._turn is not None)
        async with self._lock:
            if not self._journal.ended and (self._turn or had_agent):
                step = self._journal.begin("daemon", {"cause": "daemon_stopped"})
                step.tell(self._journal.order.end_turn("interrupted", "The daemon was stopped."))
                self._turn_over(step, "hibernated")
                step.change(live=False)
                await self._journal.write(step)

    async def recover(self, order: Sequencer) -> None:
        """Tell the end of what another daemon left open; `order` has observed the open turn."""
        async with self._lock:
            self._journal.order = order
            step = self._journal.begin("daemon", {"cause": "daemon_restarted"})
            step.tell(endings.restarted(order))
            self._journal.settle(step, "hibernated")
            step.change(live=False)
            await self._journal.write(step, patient=True)

    # -- turns ----------------------------------------------------------------------------------------------

    async def advance(self) -> None:
        """Start the next turn, if there is a message and no turn is running."""
        async with self._lock:
            turn = None if self._turn else await self._start_turn()
        if turn:
            await self._prompt(turn)

    async def _start_turn(self) -> Turn | None:
        """Told and on disk before the agent hears of it. The lock is held."""
        if self._ending or not self._inputs:
            return None
        input = self._inputs.popleft()
        message = msgspec.json.decode(input.body, type=SendMessage)
        self._turn = turn = Turn(prompt_of(input.item_id, message))
        step = self._journal.begin("from_client", input.body)
        step.tell(self._journal.order.start_turn([user_item(input.item_id, message)]))
        step.taken.append(input.item_id)
        self._journal.settle(step)
        await self._journal.write(step, patient=True)
        return turn

    async def _prompt(self, turn: Turn) -> None:
        try:
            async with self._talk:
                conversation = await self._awake(turn)
                if conversation and turn.prompt and turn is self._turn:
                    turn.prompted = True
                    await conversation.prompt(turn.prompt)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the turn must end
            await self._turn_failed(turn, error)

    async def _awake(self, turn: Turn) -> Conversation | None:
        """The live agent; started or resumed if it was not there. None if the turn is over by then."""
        if self._link.conversation:
            return self._link.conversation
        record = await self._log.session(self.record.session_id)
        launch = await self._launch_for(replace(record, native_session_id=self._journal.native_session_id))
        conversation = await self._link.open(launch)
        async with self._lock:
            wanted = turn is self._turn and not self._ending
            if conversation and wanted:
                self._link.conversation = conversation
                step = self._journal.listen()
                step.change(live=True)
                self._journal.commit(step)
        if wanted:
            return conversation
        self._link.drop()
        await self._link.close(conversation)

    async def _turn_failed(self, turn: Turn, error: Exception) -> None:
        async with self._lock:
            if turn is not self._turn or self._ending:
                return
            logger.warning("an agent did not take its turn", session=self.record.session_id, exc_info=error)
            step = self._journal.begin("daemon", {"cause": "prompt_failed", "detail": str(error)})
            step.tell(endings.not_started(self._journal.order, error, cancelled=turn.cancelled))
            self._turn_over(step)
            self._journal.commit(step)
        self._spawn(self.advance)

    async def _again(self, turn: Turn, delay: float) -> None:
        await anyio.sleep(delay)
        if turn is self._turn:
            await self._prompt(turn)

    def _turn_over(self, step: Step, rest: SessionStatus = "idle") -> None:
        """After the events that end a turn are told."""
        if self._turn:
            self._turn.over.set()
            self._turn = None
        self.idle_since = anyio.current_time()
        self._journal.settle(step, rest)
        self._waiting.release(self._journal.order.asks)

    def _session_over(self, step: Step) -> None:
        """After `session.ended` was told: no turn comes any more."""
        self._ending = True
        self._journal.end(step)
        step.taken.extend(input.item_id for input in self._inputs)
        self._inputs.clear()

    # -- the agent ------------------------------------------------------------------------------------------

    async def heard(self, ear: Ear, batch: Sequence[Heard]) -> None:
        async with self._lock:
            if not self._link.hears(ear) or self._journal.ended:
                return
            turn = self._turn
            step = self._journal.listen()
            for said in batch:
                step.cause(said.frame.direction, said.frame.body, said.frame.form)
                if turn and not turn.heard:
                    turn.heard = any(not isinstance(draft, NativeSession) for draft in said.drafts)
                if self._journal.take_in(step, said):
                    self._session_over(step)
            if turn and not self._journal.order.turn_id:
                self._turn_over(step)
                self._spawn(self._after_turn)
            elif self._journal.order.turn_id and not turn:
                self._turn = Turn(None)
            self._journal.settle(step)
            self._journal.commit(step)
        await self._journal.room()

    async def died(self, ear: Ear, death: Death) -> None:
        async with self._lock:
            if not self._link.hears(ear):
                return
            self._link.drop()
            if self._ending:
                return
            self._counts.deaths[self.adapter.name] += 1
            turn = self._turn
            step = self._journal.begin("daemon", {"cause": "agent_exited", "death": death})
            step.change(live=False)
            if turn and death.history_lost and turn.may_go_on(death):
                step.native(None)
                step.tell([Emission(endings.history_lost(), True)])
                self._spawn(self._again, turn, 0)
            elif turn and turn.tries < self._policy.retries and turn.worth_a_try(death):
                turn.tries += 1
                delay = self._policy.retry_delay * 2 ** (turn.tries - 1)
                step.tell([Emission(endings.retrying(death, turn.tries, self._policy.retries, delay), True)])
                self._spawn(self._again, turn, delay)
            else:
                step.tell(endings.death(self._journal.order, death, cancelled=bool(turn and turn.cancelled)))
                self._turn_over(step, "hibernated")
            self._journal.commit(step)
        self._spawn(self.advance)

    async def _told(self, telling: Awaitable[bool | None]) -> bool | None:
        """Whatever an agent does not take is told in the log: the command itself is done."""
        try:
            return await telling
        except AgentFailed as error:
            async with self._lock:
                if not self._journal.ended:
                    step = self._journal.begin("daemon", {"cause": "command_failed", "detail": str(error)})
                    step.tell([Emission(endings.failure(error), True)])
                    self._journal.commit(step)

    async def _after_turn(self) -> None:
        if self._restart_when_idle:
            await self.hibernate(True)
        await self.advance()

    async def hibernate(self, for_change: bool = False) -> None:
        """Let the idle agent go, the next message resumes it; for a change that needs it, though messages wait."""
        async with self._talk:
            async with self._lock:
                if self._journal.busy or self._ending or not self.live or (self._inputs and not for_change):
                    return
                conversation = self._link.drop()
                self._restart_when_idle = False
                step = self._journal.begin("daemon", {"cause": "restart" if for_change else "idle"})
                self._journal.settle(step, "hibernated")
                step.change(live=False)
                await self._journal.write(step, patient=True)
            await self._link.close(conversation, force=False)

    async def _stop(self, *, force: bool) -> None:
        """No turn begins any more, and the agent is gone, also one that was just starting."""
        async with self._lock:
            self._ending = True
            conversation = self._link.conversation
        await self._link.close(conversation, force=force)
        with anyio.move_on_after(self._policy.close_limit):
            async with self._talk:
                return

    def _disown(self) -> None:
        """Another daemon has taken the session over: this one must not speak for it any more."""
        self._ending = True
        self._spawn(self._link.close, self._link.drop())
