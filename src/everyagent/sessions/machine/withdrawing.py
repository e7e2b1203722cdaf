"""Takes a message of a client out of the queue. Used by the machine."""

from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.messages import is_single
from everyagent.sessions.machine.state import SessionState
from everyagent.sessions.refusals import not_queued


def withdraw(state: SessionState, item_id: str, decision: Decision) -> None:
    """Raises if the message does not wait, or is one of a turn with others."""
    found = next((waiting for waiting in state.queue if waiting.item_id == item_id and is_single(waiting)), None)
    if found is None:
        raise not_queued(item_id)
    state.queue.remove(found)
    decision.transaction.taken_inputs.append(item_id)
