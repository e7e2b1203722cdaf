"""A live session that has a view: what its clients ask for comes in batches, each one step, all or nothing."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from everyagent.agents.adapter import Adapter, Heard, Launch, Prompt
from everyagent.errors import EveryagentError
from everyagent.log.log import FrameDirection, Input, Receipt, SessionRecord
from everyagent.model.asks import Answer, PermissionAnswer
from everyagent.model.events import SessionUpdated
from everyagent.sessions.actor import Actor
from everyagent.sessions.agent_link import Ear
from everyagent.sessions.machine.messages import Entry, Submission, entries_of, prompt_of, user_item
from everyagent.sessions.machine.projection import Projection, Projections
from everyagent.sessions.machine.sequencer import Emission
from everyagent.sessions.machine.step import Step
from everyagent.sessions.machine.turn import Turn
from everyagent.sessions.refusals import cannot_stop_one, closed_ask
from everyagent.sessions.session_context import SessionContext

_GRANTED = b'{"cause":"granted_before"}'
_OVERSPENT = b'{"cause":"budget_reached"}'


class Batch(Struct, frozen=True, kw_only=True):
    """`cause` is the frame: what the view makes it of. `updated` is told; `config` is the row's, if it changes.

    `restart`: the agent must be started anew to know of it. `subagents` are the calls whose sub-agents shall stop.
    `late`: it may come after the session's end.

    `told` is called when everything the batch gives rise to is told; its receipt commits with it.
    """

    cause: bytes
    direction: FrameDirection = "from_client"
    interrupt: bool = False
    subagents: Sequence[str] = ()
    answers: Sequence[tuple[str, Answer]] = ()
    submission: Submission | None = None
    updated: SessionUpdated | None = None
    config: bytes | None = None
    restart: bool = False
    late: bool = False
    told: Callable[[], Receipt | None] | None = None


class ProjectedActor(Actor):
    def __init__(
        self,
        record: SessionRecord,
        adapter: Adapter,
        context: SessionContext,
        inputs: Sequence[Input],
        view: Projection,
        views: Projections,
    ) -> None:
        super().__init__(record, adapter, context, inputs, view)
        self.view = view
        self._views = views
        self._world = context
        self._launch_for = self._prepared

    async def _prepared(self, record: SessionRecord) -> Launch:
        return await self._views.launch(record, await self._world.launch_for(record))

    async def submit(self, plan: Callable[[Projection, SessionRecord], Batch | None]) -> None:
        """`plan` looks at the view and refuses what does not fit it; nothing changes between it and the step."""
        async with self._lock:
            batch = plan(self.view, self.record)
            if batch is None:
                return
            if batch.subagents and not self.adapter.capabilities.subagent_interrupt:
                raise cannot_stop_one(self.adapter.title)
            asks = self._journal.order.asks
            pending = [(asks.pending(ask_id), ask_id, answer) for ask_id, answer in batch.answers]
            for ask, ask_id, _ in pending:
                if ask is None:
                    raise await closed_ask(self._log, self.record.number, ask_id)
            if not batch.late:
                self._journal.refuse_if_ended()
            resolutions = [asks.resolve(ask_id, answer) for _, ask_id, answer in pending]
            step = self._journal.begin(batch.direction, batch.cause)
            step.tell([Emission(resolution, True) for resolution in resolutions])
            if resolutions and len(asks) == len(resolutions):
                self._journal.set_status(step, "running" if self._turn else "idle")
            if batch.updated:
                step.tell([Emission(batch.updated, True)])
            if batch.config:
                step.change(config=batch.config)
            stopped = self._stopped_by(step, batch)
            begun = self._put(step, batch.submission, stopped)
            step.close()
            step.receipt = batch.told() if batch.told else None
            try:
                await self._journal.write(step, patient=stopped is not None)
            except EveryagentError:
                self._forget(begun)
                raise
            for resolution in resolutions:
                asks.forget(resolution)
            self._inputs.extend(step.inputs)
            conversation = self._link.conversation
        for ask, ask_id, answer in pending:
            await self._pass_on(ask_id, ask.key if ask else "", answer)
        for call in batch.subagents:
            self._spawn(self._stop_subagent, call)
        if batch.restart:
            self._restart_when_idle = True
            self._spawn(self.hibernate, True)
        if begun:
            self._spawn(self._prompt, begun)
        elif stopped and stopped.prompted and conversation:
            self._spawn(self._link.interrupt, conversation, stopped.over)
        else:
            self._spawn(self._after_turn if stopped else self.advance)

    async def _stop_subagent(self, call: str) -> None:
        await self._told(self.cancel_subagent(call))

    def _stopped_by(self, step: Step, batch: Batch) -> Turn | None:
        """The turn it interrupts; one that the agent has not been given yet ends here and now."""
        turn = self._turn
        if not batch.interrupt or turn is None:
            return None
        turn.cancelled = True
        if not turn.prompted or not self._link.conversation:
            step.tell(self._journal.order.end_turn("interrupted", "The turn was interrupted."))
            self._turn_over(step)
        return turn

    def _put(self, step: Step, submission: Submission | None, stopped: Turn | None) -> Turn | None:
        """The turn that the submission begins at once; otherwise it waits with this step."""
        if submission is None:
            return None
        if self._turn or self._inputs or self._ending or self.view.blocked or stopped:
            step.inputs.append(Input(item_id=submission.entries[0].item_id, body=msgspec.json.encode(submission)))
            return None
        return self._begin(step, submission.entries)

    def _begin(self, step: Step, entries: Sequence[Entry]) -> Turn:
        prompts = [prompt_of(entry.item_id, entry.message) for entry in entries]
        prompt = Prompt(
            item_id=entries[0].item_id,
            text="\n\n".join(each.text for each in prompts),
            attachments=[attachment for each in prompts for attachment in each.attachments],
        )
        self._turn = turn = Turn(prompt)
        step.tell(self._journal.order.start_turn([user_item(entry.item_id, entry.message) for entry in entries]))
        self._journal.settle(step)
        return turn

    def _forget(self, begun: Turn | None) -> None:
        if begun:
            self._turn = None
            self._journal.order.turn_id = None

    async def _start_turn(self) -> Turn | None:
        if self._ending or not self._inputs or self.view.blocked:
            return None
        input = self._inputs.popleft()
        step = self._journal.begin("from_client", input.body)
        step.taken.append(input.item_id)
        turn = self._begin(step, entries_of(input))
        await self._journal.write(step, patient=True)
        return turn

    async def heard(self, ear: Ear, batch: Sequence[Heard]) -> None:
        await super().heard(ear, batch)
        if self.view.overspent and self._turn and not self._turn.cancelled:
            self._spawn(self._cut_short)
        for ask_id in self.view.granted():
            self._spawn(self._grant, ask_id)

    async def _cut_short(self) -> None:
        if self._turn and not self._turn.cancelled:
            await self.submit(
                lambda _view, _record: Batch(cause=_OVERSPENT, direction="daemon", interrupt=self.view.overspent)
            )

    async def _grant(self, ask_id: str) -> None:
        if self._journal.order.asks.pending(ask_id):
            yes = PermissionAnswer(reply="once")
            await self.submit(lambda _view, _record: Batch(cause=_GRANTED, direction="daemon", answers=[(ask_id, yes)]))

    async def _prompt(self, turn: Turn) -> None:
        try:
            await self._views.turn_begins(self.view, self.record.session_id)
        except EveryagentError as error:
            await self._turn_failed(turn, error)
        else:
            await super()._prompt(turn)

    async def _after_turn(self) -> None:
        await self._journal.written()
        await self._views.turn_over(self.record.session_id)
        await super()._after_turn()
