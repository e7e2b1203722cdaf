"""A session's past, told again as another session's: what a fork begins with."""

from collections.abc import Iterable

from msgspec.structs import replace

from everyagent.clock import Clock
from everyagent.log.log import Append, SessionRecord, StoredEvent
from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import SessionEnded, SessionStarted, SessionUpdated
from everyagent.model.parts import Json
from everyagent.sessions.machine.sequencer import Emission, Sequencer
from everyagent.sessions.machine.step import Scribe


def retell(
    record: SessionRecord, past: Iterable[StoredEvent], metadata: dict[str, Json], cause: bytes, clock: Clock
) -> Append:
    """The events keep their sequences; their envelopes are the new session's, and all are the daemon's telling.

    What was open at the cut is closed, so that the fork starts at rest.
    """
    scribe = Scribe(record, clock)
    step = scribe.begin()
    step.cause("from_client", cause)
    order = Sequencer()
    for stored in past:
        data = decode_event(stored.body).data
        match data:
            case SessionStarted():
                step.tell([Emission(replace(data, metadata=metadata), True)])
            case UnknownData() | SessionEnded():
                break
            case _:
                order.observe(data)
                step.tell([Emission(data, True)])
    step.tell(order.end_turn("interrupted", "The session was forked here."))
    step.tell([Emission(SessionUpdated(status="idle"), True)])
    return step.finish()
