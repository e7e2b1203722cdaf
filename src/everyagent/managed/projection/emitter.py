"""Emits the events of a projection: numbers and encodes them, and records which older ones they replace."""

from collections.abc import Iterable

import msgspec

from everyagent.clock import rfc3339
from everyagent.log.log import NewEvent
from everyagent.log.projections import ProjectionStep
from everyagent.managed.projection.events import ON_THREAD, TYPE_NUMBERS, ManagedEvent
from everyagent.managed.projection.naming import event_id
from everyagent.managed.projection.state import State
from everyagent.managed.sessions.client_events import ClientEvent

_encode = msgspec.json.Encoder().encode
_decode_state = msgspec.json.Decoder(State).decode


class OnThread(msgspec.Struct, frozen=True):
    """An event of a sub-agent's thread, as it is stored."""

    thread: str
    event: msgspec.Raw


class Emitter:
    """`state` is the state after all events so far, `taken` the same as it was encoded last.

    `echoes` are the client's events of the latest frame, by id.
    """

    def __init__(self, session_id: str, state: bytes) -> None:
        self.session_id = session_id
        self.state: State = _decode_state(state)
        self.at: int = 0
        self.time = ""
        self.taken = state
        self._head = self.state.head
        self._events: list[NewEvent] = []
        self._superseded: list[int] = []
        self.echoes: dict[str, bytes] = {}
        self.dirty = False

    def begin(self, at: int) -> None:
        if at != self.at:
            self.at, self.time = at, rfc3339(at)

    def new_id(self) -> str:
        """An id for the next event."""
        return event_id(self.session_id, "number", self.state.head + 1)

    def emit(self, event: ManagedEvent, *, again: int = 0) -> int:
        """Adds an event and returns its number. `again` is the number of the event that it replaces."""
        if again:
            self._supersede((again,))
        return self._add(TYPE_NUMBERS[str(type(event).__struct_config__.tag)], _encode(event))

    def emit_on_thread(self, thread: str, event: ManagedEvent | ClientEvent) -> None:
        self.state.hidden += 1
        self._add(ON_THREAD, _encode(OnThread(thread, msgspec.Raw(_encode(event)))))

    def echo(self, event: ClientEvent, *, processed: bool, again: Iterable[int] = ()) -> int:
        """Adds a client's event, with its time once it is processed."""
        self._supersede(again)
        body = _encode(msgspec.structs.replace(event, processed_at=self.time if processed else None))
        self.echoes[event.id] = body
        return self._add(TYPE_NUMBERS[str(type(event).__struct_config__.tag)], body)

    def repeat(self, event: ClientEvent) -> None:
        """Responds to a client's event that changes nothing."""
        self.echoes[event.id] = _encode(msgspec.structs.replace(event, processed_at=self.time))

    def _supersede(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._superseded.append(number)
            self.state.hidden += 1

    def _add(self, type_number: int, body: bytes) -> int:
        self.dirty = True
        self.state.head += 1
        self._events.append(NewEvent(self.state.head, type_number, 0, body))
        return self.state.head

    def take(self, document: bytes | None, archived_at: int | None) -> ProjectionStep | None:
        if not self.dirty:
            return None
        self.taken = _encode(self.state)
        step = ProjectionStep(
            expected=self._head,
            status=self.state.status,
            state=self.taken,
            hidden=self.state.hidden,
            events=self._events,
            superseded=self._superseded,
            document=document,
            archived_at=archived_at if archived_at is not None else msgspec.UNSET,
        )
        self._head = self.state.head
        self._clear()
        return step

    def restore(self, state: bytes) -> None:
        """Goes back to this encoded state."""
        self.taken = state
        self.state = _decode_state(state)
        self._head = self.state.head
        self._clear()

    def _clear(self) -> None:
        self._events, self._superseded, self.dirty = [], [], False
