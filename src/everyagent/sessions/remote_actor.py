"""The actor of a session whose agent runs on a runner. Its agent outlives the daemon."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from everyagent.agents.adapter import Adapter, Conversation, DecodedFrame
from everyagent.log.intact_events import intact_events
from everyagent.log.log import EventQuery, Input, SessionRecord
from everyagent.model.asks import Answer
from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import TYPE_NUMBERS, EventData, ItemDelta, ItemStarted, TurnStarted
from everyagent.model.isolation import Isolation
from everyagent.model.runners import Mark
from everyagent.remote import wire
from everyagent.remote.conversation import RemoteConversation, RunnerListener
from everyagent.sessions.actor import Actor
from everyagent.sessions.agent_link import AgentLink, ConversationListener, RemoteListener
from everyagent.sessions.launch.config import config_of
from everyagent.sessions.loading import Past
from everyagent.sessions.machine import inputs, remote
from everyagent.sessions.machine.active_turn import ActiveTurn
from everyagent.sessions.machine.projection import Projection
from everyagent.sessions.missed_messages import missed_messages
from everyagent.sessions.session_context import SessionContext

_MESSAGE_EVENTS = frozenset(TYPE_NUMBERS[data.type] for data in (TurnStarted, ItemStarted, ItemDelta))


class RemoteActor(Actor):
    def __init__(
        self,
        record: SessionRecord,
        adapter: Adapter,
        context: SessionContext,
        queue: Sequence[Input],
        past: Past,
        projection: Projection | None = None,
    ) -> None:
        super().__init__(record, adapter, context, queue, past, projection)
        self._link = AgentLink(adapter, self, context.limits, lambda: RemoteListener(self))
        #: The last event of the daemon before; what follows was committed by this one.
        self._resumed_at = 0

    def _ready(self, turn: ActiveTurn, opened: Conversation | None) -> inputs.AgentReady:
        mark = Mark(epoch=opened.epoch, sequence=opened.sequence) if isinstance(opened, RemoteConversation) else None
        return inputs.AgentReady(turn, mark)

    def resume(self, take_up: Callable[[RunnerListener], Conversation]) -> None:
        """Go on with the conversation of an earlier daemon. Called before any input."""
        self._resumed_at = self.record.last_sequence
        remote.resume(self.machine.state)
        listener = RemoteListener(self)
        self._link.attach(take_up(listener), listener)

    async def received_once(self, listener: ConversationListener, frames: Sequence[DecodedFrame], mark: Mark) -> bool:
        """Frames, committed with their mark when this returns. False if they are not."""
        async with self._lock:
            decision = self._post(inputs.FramesReceived(frames, mark)) if self._link.listens_to(listener) else None
            done = self._appended
        if decision is None or done is None:
            return False
        await asyncio.wait((done,))
        return not done.cancelled() and done.exception() is None

    def listens_to(self, listener: ConversationListener) -> bool:
        return self._link.listens_to(listener)

    @property
    def mark(self) -> Mark | None:
        return config_of(self.record).runner_mark

    @property
    def isolation(self) -> Isolation | None:
        return config_of(self.record).isolation

    async def missed(self, held: wire.Held) -> Sequence[wire.Action]:
        """Messages and answers that an earlier daemon committed, and that the runner does not have.

        An answer that this daemon sends as well is taken once.
        """
        if self.machine.state.turn is None:
            return ()
        found: list[wire.Action] = [*missed_messages(await self._turn(), held)]
        for ask_id in held.asks:
            ask = await self._context.log.ask(self.record.number, ask_id)
            if ask and ask.answer:
                found.append(wire.GiveAnswer(ask_id, msgspec.json.decode(ask.answer, type=Answer)))
        return found

    async def _turn(self) -> list[EventData]:
        """The events of the open turn in which the messages of an earlier daemon are."""
        query = EventQuery(session=self.record.number, after=self.record.open_turn - 1, types=_MESSAGE_EVENTS)
        stored = [
            decode_event(event.body).data
            async for event in intact_events(self._context.log, query)
            if event.sequence <= self._resumed_at
        ]
        return [data for data in stored if not isinstance(data, UnknownData)]

    async def shut_down(self) -> None:
        """The daemon stops. The agent and its turn go on, and the next daemon takes the session up."""
        async with self._lock:
            self._link.drop()
        self._calls.close()
