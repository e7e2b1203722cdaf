"""Takes messages of clients out of the queue. Used by the machine."""

from typing import Literal

from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.messages import entries_of, is_single
from everyagent.sessions.machine.state import SessionState
from everyagent.sessions.refusals import not_queued


def withdraw(state: SessionState, wanted: str | Literal[True], decision: Decision) -> None:
    """Takes out one message by its item, or all. Raises if that one does not wait, or is one of a turn with others."""
    found = [each for each in state.queue if (wanted is True or each.item_id == wanted) and is_single(each)]
    if not found and wanted is not True:
        raise not_queued(wanted)
    for waiting in found:
        state.queue.remove(waiting)
        decision.transaction.taken_inputs.append(waiting.item_id)
        decision.withdrawn += [entry.message for entry in entries_of(waiting)]
