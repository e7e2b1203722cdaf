"""Ends sessions, and the turns of sessions whose daemon stops or was restarted. Pure."""

from everyagent.agents.adapter import Death
from everyagent.model.events import EventSource, SessionEnded
from everyagent.sessions.machine import answering, effects, endings, inputs, lifetimes
from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.sequencer import Emission
from everyagent.sessions.machine.state import SessionState
from everyagent.sessions.machine.statuses import settle


def end(state: SessionState, ended: SessionEnded, decision: Decision) -> None:
    decision.transaction.emit([Emission(ended, True)])
    mark_ended(state, decision)


def mark_ended(state: SessionState, decision: Decision) -> None:
    """`session.ended` is emitted: nothing follows it, and no message gets a turn any more."""
    state.ending, state.status = True, "ended"
    decision.transaction.change(status="ended", live=False)
    decision.transaction.taken_inputs.extend(waiting.item_id for waiting in state.queue)
    state.queue.clear()


def terminate(state: SessionState, terminate: inputs.Terminate, decision: Decision) -> None:
    used = state.busy or state.queue or state.record.live
    if state.ended or (terminate.if_unused and used):
        return
    decision.transaction.begin_frame("from_client", b'{"request":"terminate"}', actor=terminate.actor)
    decision.transaction.emit(state.held_text())
    decision.transaction.emit(state.sequencer.end_turn("terminated", "The session was terminated."))
    state.turn = None
    end(state, SessionEnded(reason="terminated", terminated_by="daemon"), decision)


def shut_down(state: SessionState, decision: Decision) -> None:
    if state.ended or not (state.turn or state.record.live):
        return
    decision.patient = False
    decision.note({"cause": "daemon_stopped"})
    decision.transaction.emit(state.held_text())
    decision.transaction.emit(state.sequencer.end_turn("interrupted", "The daemon was stopped.", park=state.parks))
    state.turn = None
    _leave(state, decision)


def recover(state: SessionState, recover: inputs.Recover, decision: Decision) -> None:
    sequencer, park = state.sequencer, state.parks
    decision.patient = False
    if recover.failure is None:
        decision.note({"cause": "daemon_restarted"})
        decision.transaction.emit(endings.restarted(sequencer, park=park))
    else:
        decision.note({"cause": "commit_failed", "detail": recover.failure})
        decision.transaction.emit(endings.commit_failed(sequencer, recover.failure, park=park))
        decision.effects.append(effects.FinishTurn())
    _leave(state, decision)


def _leave(state: SessionState, decision: Decision) -> None:
    """The agent's process ended with its daemon: the session rests, unless its lifetime is over."""
    ended = of_turns(state, decision, "daemon") or lifetimes.after_daemon(state.lifetime)
    if ended:
        end(state, ended, decision)
        return
    state.live = False
    if not state.parked:
        answering.forget(state, decision)
    settle(state, decision, "hibernated")
    decision.transaction.change(live=False)


def of_turns(
    state: SessionState, decision: Decision, by: EventSource = "agent", death: Death | None = None
) -> SessionEnded | None:
    """The end of the session that the ended turns of this decision cause. `by` and `death` ended them."""
    ends = (lifetimes.after_turn(state.lifetime, turn, by, death) for turn in decision.transaction.ended_turns)
    return next((ended for ended in ends if ended), None)
