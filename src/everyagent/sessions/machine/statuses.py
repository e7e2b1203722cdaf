"""The status of a session: emitted whenever it changes."""

from everyagent.model.events import SessionStatus, SessionUpdated
from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.sequencer import Emission
from everyagent.sessions.machine.state import SessionState


def settle(state: SessionState, decision: Decision, rest: SessionStatus = "idle") -> None:
    """Emit the status if it changed; it is `rest` when no turn runs."""
    unasked = "running" if state.sequencer.turn_id else rest
    set_status(state, "waiting" if len(state.sequencer.asks) else unasked, decision)


def set_status(state: SessionState, status: SessionStatus, decision: Decision) -> None:
    if status != state.status and not state.ended:
        state.status = status
        decision.transaction.emit([Emission(SessionUpdated(status=status), True)])
