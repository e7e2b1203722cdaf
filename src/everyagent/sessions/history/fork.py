"""The first events of a fork: those of its origin, encoded again for the new session."""

from collections.abc import Iterable

from msgspec.structs import replace

from everyagent.clock import Clock
from everyagent.log.log import Append, SessionRecord, StoredEvent
from everyagent.masking.masker import Masker
from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import SessionEnded, SessionStarted, SessionUpdated
from everyagent.model.parts import Json
from everyagent.model.principals import current_actor
from everyagent.sessions.machine.sequencer import Emission, Sequencer
from everyagent.sessions.machine.transaction import LogPosition, Transaction


class Fork:
    """Takes the origin's events in slices, one call at a time, from any thread.

    The events keep their sequences; their envelopes are the new session's, with the daemon as their source.
    """

    def __init__(
        self,
        record: SessionRecord,
        metadata: dict[str, Json],
        cause: bytes,
        clock: Clock,
        masker: Masker,
    ) -> None:
        self._metadata = metadata
        self._sequencer = Sequencer()
        self._step = Transaction(LogPosition(record), clock.micros(), masker=masker)
        self._step.begin_frame("from_client", cause)

    def add(self, past: Iterable[StoredEvent]) -> bool:
        """False at an event that a fork cannot have: those before it are all its past."""
        for stored in past:
            event = decode_event(stored.body)
            data, self._step.actor = event.data, event.actor
            match data:
                case SessionStarted():
                    self._step.actor = current_actor()
                    self._step.emit([Emission(replace(data, metadata=self._metadata), True)])
                case UnknownData() | SessionEnded():
                    return False
                case _:
                    self._sequencer.observe(data)
                    self._step.emit([Emission(data, True)])
        return True

    def finish(self) -> Append:
        """Closes what is open, so that the fork is idle."""
        self._step.actor = current_actor()
        self._step.emit(self._sequencer.end_turn("interrupted", "The session was forked here."))
        self._step.emit([Emission(SessionUpdated(status="idle"), True)])
        return self._step.finish()
