"""The session machine: decides what every input means for a session. No I/O, no waiting, no clock.

Its actor gives it one input at a time, commits the transaction that it decides on, then carries out the effects.
"""

from collections.abc import Sequence
from typing import assert_never

import msgspec

from everyagent.agents.adapter import Capabilities, Death, DecodedFrame, Echo, NativeSession, Synthetic
from everyagent.model.asks import Answer
from everyagent.model.events import ItemDelta, SessionEnded, SessionStatus, SessionUpdated
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine import answering, asking, closing, effects, endings, inputs, lifetimes
from everyagent.sessions.machine.active_turn import ActiveTurn
from everyagent.sessions.machine.announced import announced_in
from everyagent.sessions.machine.asks import Resolution
from everyagent.sessions.machine.beginning import begin
from everyagent.sessions.machine.decision import Decision, Snapshot
from everyagent.sessions.machine.messages import (
    InputMessage,
    Submission,
    actor_of,
    entries_of,
    input_item,
    prompt_of,
    topic_of,
)
from everyagent.sessions.machine.projection import Projection
from everyagent.sessions.machine.remote import keep_mark
from everyagent.sessions.machine.sequencer import Emission
from everyagent.sessions.machine.state import SessionState
from everyagent.sessions.machine.statuses import settle
from everyagent.sessions.machine.transaction import Transaction
from everyagent.sessions.machine.withdrawing import withdraw
from everyagent.sessions.refusals import AskNotOpen, cannot_steer, cannot_stop_one, queue_full, session_ended


class Machine:
    """`state` is changed in place. A batch that is refused raises before anything is changed."""

    __slots__ = ("_capabilities", "_limits", "_title", "projection", "state")

    def __init__(
        self,
        state: SessionState,
        *,
        title: str,
        capabilities: Capabilities,
        limits: Limits,
        projection: Projection | None = None,
    ) -> None:
        self.state = state
        self.projection = projection
        self._title, self._capabilities = title, capabilities
        self._limits = limits

    def decide(self, input: inputs.SessionInput, now: int) -> Decision:
        """`now` is in microseconds."""
        transaction = Transaction(self.state.position, now, self.projection, self.state.mask.masker)
        self.state.sequencer.asks.at = now
        decision = Decision(transaction)
        self._decide(input, decision)
        keep_mark(input, self.state, decision)
        transaction.end_frame()
        if not transaction.empty:
            decision.append = append = transaction.finish()
            if append.changes:
                self.state.record = append.changes.applied_to(self.state.record)
        return decision

    def snapshot(self) -> Snapshot:
        """Taken before a client's command, which may be refused by the log."""
        return self.state.copy(), self.projection.snapshot() if self.projection else None

    def restore(self, snapshot: Snapshot) -> None:
        """The decisions since the snapshot are not committed."""
        self.state, of_projection = snapshot
        if self.projection:
            self.projection.restore(of_projection)

    def _decide(self, input: inputs.SessionInput, decision: Decision) -> None:
        match input:
            case inputs.FramesReceived():
                self._receive(input.frames, decision)
            case inputs.Batch():
                self._submit(input, decision)
            case inputs.NextTurn():
                self._begin_next(decision)
            case inputs.AgentReady():
                self._agent_ready(input.turn, decision)
            case inputs.AgentDied():
                self._agent_died(input.death, decision)
            case inputs.PromptFailed():
                self._prompt_failed(input, decision)
            case inputs.CommandFailed():
                self._command_failed(input.error, decision)
            case inputs.ClientNeeded():
                asking.ask_client(self.state, input.request, decision)
            case inputs.RestartNeeded():
                self._restart(decision)
            case inputs.Hibernate():
                self._hibernate(input.restart, decision)
            case inputs.NoMoreTurns():
                self.state.ending = True
            case inputs.Terminate():
                closing.terminate(self.state, input, decision)
            case inputs.ShutDown():
                closing.shut_down(self.state, decision)
            case inputs.Recover():
                closing.recover(self.state, input, decision)
            case _:
                assert_never(input)

    def _submit(self, batch: inputs.Batch, decision: Decision) -> None:
        state, transaction = self.state, decision.transaction
        resolved = self._resolved_by(batch)
        steered = self._is_steered(batch.submission)
        if batch.withdrawn:
            withdraw(self.state, batch.withdrawn, decision)
        if batch.interrupt_next:
            self._begin_next(decision)
        stopped = state.turn if batch.interrupt else None
        if stopped:
            stopped.stop_for(batch.stop_reason, batch.notice)
        decision.patient = decision.stopped = stopped is not None
        transaction.begin_frame(batch.direction, batch.frame, optional=not batch.recorded, actor=batch.actor)
        parked = state.parked
        resumption = answering.answer(state, resolved, decision)
        state.early = {**state.early, **batch.early}
        if parked and batch.interrupt:
            answering.drop_parked(state, batch.interrupt, decision)
        elif resumption:
            self._resume(resumption, decision)
        for data in (batch.updated, batch.notice):
            transaction.emit(state.sequencer.apply(data, synthetic=True) if data else ())
        if batch.config:
            state.configure(batch.config, transaction)
        if batch.forgets:
            transaction.set_native_session(None)
        if batch.change and state.live:
            decision.effects.append(effects.ChangeAgent(batch.change))
        if batch.restart or (batch.change and not state.live):
            self._restart(decision)
        decision.effects += [effects.InterruptSubagent(call) for call in batch.subagents]
        if stopped:
            self._interrupt(stopped, batch.interrupt or "", decision)
        if batch.submission:
            self._place(batch.submission, decision, steered=steered)
        transaction.end_frame()
        if state.queue and not state.turn and not stopped:
            decision.effects.append(effects.BeginNext())
        transaction.receipt = batch.receipt() if batch.receipt else None

    def _resolved_by(self, batch: inputs.Batch) -> list[tuple[Resolution, Answer]]:
        """The resolutions of the asks that a batch answers. Raises if the batch is refused."""
        if batch.subagents and not self._capabilities.subagent_interrupt:
            raise cannot_stop_one(self._title)
        asks = self.state.sequencer.asks
        for ask_id, _ in batch.answers:
            if not asks.pending(ask_id):
                raise AskNotOpen(ask_id)
        if self.state.ended and not batch.late:
            raise session_ended(self.state.record.session_id)
        return [(asks.resolve(ask_id, answer), answer) for ask_id, answer in batch.answers]

    def _is_steered(self, submission: Submission | None) -> bool:
        """Whether it goes into the running turn. Raises if it cannot be taken."""
        if submission and self.state.budget:
            self.state.budget.refuse_message(self.state.position)
        wanted = submission is not None and submission.entries[0].message.delivery == "steer"
        if not wanted or not self.state.turn or not self.state.live:
            if submission and 0 < self._limits.max_queued_messages <= len(self.state.queue):
                raise queue_full(self._limits.max_queued_messages)
            return False
        if not self._capabilities.steering:
            raise cannot_steer(self._title)
        return True

    def _resume(self, resumption: InputMessage, decision: Decision) -> None:
        """Begins a turn that gives the agent the answers to all parked asks, before the messages that wait."""
        if self.state.ending or self._blocked:
            self._queue(Submission(entries=[resumption]), decision)
            settle(self.state, decision, "hibernated")
        else:
            self._begin_turn([resumption], decision)

    def _queue(self, submission: Submission, decision: Decision) -> None:
        waiting = msgspec.structs.replace(submission, actor=decision.transaction.actor).as_input()
        decision.transaction.inputs.append(waiting)
        self.state.queue.append(waiting)

    def _place(self, submission: Submission, decision: Decision, *, steered: bool) -> None:
        """The one rule of where a message goes: into the running turn, into the queue, or into a turn of its own."""
        state, transaction = self.state, decision.transaction
        if steered:
            (entry,) = submission.entries
            transaction.emit(state.sequencer.say([input_item(entry)], echo=self._capabilities.message_echo))
            decision.effects.append(effects.SteerAgent(prompt_of(entry.item_id, entry.message)))
        elif state.turn or state.queue or state.ending or decision.stopped or self._blocked:
            self._queue(submission, decision)
        else:
            self._begin_turn(submission.entries, decision)

    def _interrupt(self, turn: ActiveTurn, why: str, decision: Decision) -> None:
        """A turn that the agent was not given yet ends at once; any other is for the agent to stop."""
        turn.cancelled = True
        if turn.prompted and self.state.live:
            decision.effects.append(effects.InterruptAgent(turn))
            return
        decision.transaction.emit(self.state.sequencer.end_turn(turn.stop_reason, why))
        decision.effects = [effect for effect in decision.effects if not isinstance(effect, effects.PromptAgent)]
        self._finish_turn(decision)

    def _restart(self, decision: Decision) -> None:
        """An agent that starts right now may have missed the change: it is restarted after its turn."""
        if self.state.live or self.state.turn:
            self.state.restart_wanted = True
            decision.effects.append(effects.RestartAgent())

    @property
    def _blocked(self) -> bool:
        return self.state.parked or self.state.over_budget or bool(self.projection and self.projection.blocked)

    def _begin_next(self, decision: Decision) -> None:
        state, transaction = self.state, decision.transaction
        if state.turn or state.ending or not state.queue or self._blocked:
            return
        waiting = state.queue.pop(0)
        transaction.begin_frame("from_client", waiting.body, actor=actor_of(waiting))
        transaction.taken_inputs.append(waiting.item_id)
        self._begin_turn(entries_of(waiting), decision)

    def _begin_turn(self, entries: Sequence[InputMessage], decision: Decision) -> None:
        self.state.turn = turn = begin(self.state, entries, self._capabilities, decision)
        if self.state.record.topic is None and (topic := topic_of(entries)):
            decision.transaction.change(topic=self.state.mask.masker.mask_text(topic))
        settle(self.state, decision)
        decision.effects.append(effects.PromptAgent(turn))

    def _finish_turn(
        self,
        decision: Decision,
        rest: SessionStatus = "idle",
        final: SessionEnded | None = None,
        death: Death | None = None,
    ) -> None:
        """The events that end the turn, if there is one, are emitted. `final`: the session ends as well."""
        answering.forget(self.state, decision)
        self.state.early = {}
        if self.state.turn:
            decision.effects.append(effects.FinishTurn(self.state.turn))
            self.state.turn = None
        elif self.state.queue:
            decision.effects.append(effects.BeginNext())
        final = final or closing.of_turns(self.state, decision, death=death)
        if final and not self.state.ended:
            closing.end(self.state, final, decision)
            decision.effects.append(effects.CloseAgent())
        settle(self.state, decision, rest)

    def _prompt_failed(self, failed: inputs.PromptFailed, decision: Decision) -> None:
        state, turn, error = self.state, failed.turn, failed.error
        if turn is not state.turn or state.ending:
            return
        decision.note({"cause": "prompt_failed", "detail": str(error)})
        decision.transaction.emit(endings.not_started(state.sequencer, error, turn))
        had_agent = state.position.native_session_id is not None
        self._finish_turn(decision, final=lifetimes.without_process(state.lifetime, error, had_agent=had_agent))

    def _receive(self, frames: Sequence[DecodedFrame], decision: Decision) -> None:
        state, transaction, sequencer, turn = self.state, decision.transaction, self.state.sequencer, self.state.turn
        if state.ended:
            return
        quick = transaction.quick
        for received in self.state.mask.received(frames):
            frame, drafts = received.frame, received.drafts
            if quick and len(drafts) == 1 and turn and turn.responded:  # nearly all frames of a busy agent
                only = drafts[0]
                if type(only) is ItemDelta and (delta := sequencer.grown(only)):
                    transaction.add_delta(frame, delta)
                    continue
            transaction.begin_frame(frame.direction, frame.body, frame.form)
            for draft in drafts:
                if isinstance(draft, NativeSession):
                    transaction.set_native_session(draft.id)
                    if draft.started:
                        transaction.emit([Emission(SessionUpdated(native_session_id=draft.id), False)])
                    continue
                if isinstance(draft, Echo):
                    transaction.emit(sequencer.echoed(draft.native_item_id))
                    continue
                synthetic = isinstance(draft, Synthetic)
                data = draft.data if synthetic else draft
                if state.ending and answering.outlived(state, data):
                    continue
                emissions = sequencer.apply(turn.ended_by(data) if turn else data, synthetic=synthetic)
                transaction.emit(emissions)
                if turn and turn.announced:
                    asking.follow(state, turn.announced, emissions, decision)
                if turn:
                    turn.responded = True
                    state.silent_deaths = 0
                if isinstance(data, SessionEnded):
                    closing.mark_ended(state, decision)
                    self._finish_turn(decision)
                    decision.effects.append(effects.CloseAgent())
                    return
            if sequencer.turn_id != (turn.turn_id if turn else None):
                turn = self._follow_turn(decision)
                if state.ended:
                    return
        if state.answered.granted:
            answering.grant(state, decision)
        if state.early:
            asking.answer_early(state, decision)
        if refused := sequencer.asks.over_limit():
            decision.note({"cause": "too_many_asks"})
            answering.answer(state, refused, decision)
        settle(self.state, decision)
        if self.projection or state.budget:
            self._heed_budget(decision)

    def _follow_turn(self, decision: Decision) -> ActiveTurn | None:
        """The agent ended the turn, or began one by itself, or both."""
        state = self.state
        if state.turn:
            self._finish_turn(decision)
        if state.sequencer.turn_id:
            state.turn = ActiveTurn(state.sequencer.turn_id, None, announced_in(state.record))
        return state.turn

    def _heed_budget(self, decision: Decision) -> None:
        """Stop a turn that is over its budget."""
        turn = self.state.turn
        decision.transaction.end_frame()
        overspent = self.state.over_budget or (self.projection is not None and self.projection.overspent)
        if overspent and turn and not turn.cancelled:
            decision.note({"cause": "budget_reached"})
            turn.stop_reason = "budget"
            self._interrupt(turn, "The turn was interrupted.", decision)

    def _agent_ready(self, turn: ActiveTurn, decision: Decision) -> None:
        state = self.state
        if turn is not state.turn or state.ending or turn.prompt is None or turn.prompted:
            return
        decision.accepted = turn.prompted = True
        if not state.live:
            state.live = True
            decision.transaction.change(live=True)

    def _agent_died(self, death: Death, decision: Decision) -> None:
        state, turn, transaction = self.state, self.state.turn, decision.transaction
        state.live = state.restart_wanted = False
        if state.ending:
            return
        decision.note({"cause": "agent_exited", "death": death})
        transaction.change(live=False)
        state.silent_deaths = state.silent_deaths + 1 if turn and turn.is_silent(death) else 0
        final = lifetimes.after_death(
            state.lifetime,
            death,
            endings.how(death),
            silent=state.silent_deaths,
            resumable=state.position.native_session_id is not None,
        )
        if final is None and turn and death.history_lost and turn.may_go_on(death):
            turn.prompted = False
            transaction.set_native_session(None)
            transaction.emit([Emission(endings.history_lost(), True)])
            decision.effects.append(effects.PromptAgent(turn))
        elif final is None and turn and turn.tries < self._limits.retries and turn.worth_a_try(death):
            turn.tries, turn.prompted = turn.tries + 1, False
            delay = self._limits.retry_delay * 2 ** (turn.tries - 1)
            transaction.emit([Emission(endings.retrying(death, turn.tries, self._limits.retries, delay), True)])
            decision.effects.append(effects.PromptAgent(turn, delay))
        else:
            transaction.emit(state.held_text())
            last = turn is not None and state.lifetime == "turn"
            transaction.emit(endings.death(state.sequencer, death, turn, final=last or final is not None))
            self._finish_turn(decision, "hibernated", final, death)

    def _command_failed(self, error: Exception, decision: Decision) -> None:
        if not self.state.ended:
            decision.note({"cause": "command_failed", "detail": str(error)})
            decision.transaction.emit([Emission(endings.failure(error), True)])

    def _hibernate(self, restart: bool, decision: Decision) -> None:
        state = self.state
        unprompted = state.turn is not None and not state.turn.prompted and not len(state.sequencer.asks)
        busy = state.busy and not (restart and unprompted)
        kept = state.lifetime == "process" and not restart  # a session that ends with its process outlives no process
        if busy or kept or state.ending or not state.live or (state.queue and not restart):
            return
        decision.accepted = True
        state.live = state.restart_wanted = False
        decision.note({"cause": "restart" if restart else "idle"})
        settle(state, decision, "hibernated")
        decision.transaction.change(live=False)
