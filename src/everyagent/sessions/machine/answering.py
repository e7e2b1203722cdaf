"""Answers to asks: passed to the agent that waits, or kept for the next one if it ended with its daemon. Pure."""

from collections.abc import Sequence

from everyagent.model.asks import Answer
from everyagent.model.events import EventData, TurnEnded
from everyagent.sessions.machine import effects
from everyagent.sessions.machine.asks import Request, Resolution, ask_id_of
from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.messages import InputMessage
from everyagent.sessions.machine.parked import NONE_ANSWERED, Answered
from everyagent.sessions.machine.sequencer import Emission
from everyagent.sessions.machine.state import SessionState
from everyagent.sessions.machine.statuses import set_status, settle


def answer(
    state: SessionState, resolved: Sequence[tuple[Resolution, Answer]], decision: Decision
) -> InputMessage | None:
    """Closes asks. Returns the message for the next agent when the last parked ask is answered."""
    if not resolved:
        return None
    asks, parked, answered = state.sequencer.asks, state.parked, state.answered
    for resolution, given in resolved:
        decision.transaction.emit([Emission(resolution, True)])
        ask = asks.forget(resolution)
        if ask and parked:
            answered = answered.add(ask.request, given)
        elif ask:
            decision.effects.append(effects.PassAnswer(ask_id_of(resolution), ask.key, given))
    if not parked:
        if not len(asks):
            set_status(state, "running" if state.turn else "idle", decision)
        return None
    _keep(state, answered if len(asks) else answered.delivered(), decision)
    return None if len(asks) else answered.resumption()


def grant(state: SessionState, decision: Decision) -> None:
    """Answers the asks of the agent for calls that a client allowed while they were parked."""
    asks = state.sequencer.asks
    for ask_id in asks.ids():
        pending = asks.pending(ask_id)
        if pending and (granted := state.answered.grant_for(pending.request)):
            decision.note({"cause": "granted_before"})
            answer(state, [(asks.resolve(ask_id, granted), granted)], decision)


def grant_own(state: SessionState, request: Request, ask_id: str, decision: Decision) -> bool:
    """The same for an ask of the daemon itself, whose answer no agent waits for."""
    decision.granted = granted = state.answered.grant_for(request)
    if granted is None:
        return False
    decision.note({"cause": "granted_before"})
    resolution = state.sequencer.asks.resolve(ask_id, granted)
    decision.transaction.emit([Emission(resolution, True)])
    state.sequencer.asks.forget(resolution)
    return True


def drop_parked(state: SessionState, why: str, decision: Decision) -> None:
    """Parked asks are resolved against the agent, and it gets none of the answers."""
    decision.stopped = True
    decision.transaction.emit([Emission(resolution, True) for resolution in state.sequencer.asks.abandon(why)])
    forget(state, decision)
    settle(state, decision, "hibernated")


def outlived(state: SessionState, data: EventData) -> bool:
    """Whether this event of an agent that is being ended would close asks, which outlive it."""
    return len(state.sequencer.asks) > 0 and isinstance(data, Resolution | TurnEnded)


def forget(state: SessionState, decision: Decision) -> None:
    """No turn needs the answers to parked asks any more, and their grants end."""
    if state.answered != NONE_ANSWERED:
        _keep(state, NONE_ANSWERED, decision)


def _keep(state: SessionState, answered: Answered, decision: Decision) -> None:
    state.answered = answered
    decision.transaction.change(config=answered.stored_in(state.record))
