"""A session's past, told again as another session's: what a fork begins with."""

from collections.abc import Iterable

from msgspec.structs import replace

from everyagent.clock import Clock
from everyagent.log.log import Append, SessionRecord, StoredEvent
from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import SessionEnded, SessionStarted, SessionUpdated
from everyagent.model.parts import Json
from everyagent.sessions.machine.sequencer import Emission, Sequencer
from everyagent.sessions.machine.transaction import Position, Transaction


def retell(
    record: SessionRecord, past: Iterable[StoredEvent], metadata: dict[str, Json], cause: bytes, clock: Clock
) -> Append:
    """The events keep their sequences; their envelopes are the new session's, and all are the daemon's telling.

    What was open at the cut is closed, so that the fork starts at rest.
    """
    step = Transaction(Position(record), clock.micros())
    step.begin_frame("from_client", cause)
    order = Sequencer()
    for stored in past:
        data = decode_event(stored.body).data
        match data:
            case SessionStarted():
                step.emit([Emission(replace(data, metadata=metadata), True)])
            case UnknownData() | SessionEnded():
                break
            case _:
                order.observe(data)
                step.emit([Emission(data, True)])
    step.emit(order.end_turn("interrupted", "The session was forked here."))
    step.emit([Emission(SessionUpdated(status="idle"), True)])
    return step.finish()
