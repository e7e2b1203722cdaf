"""Writes a session's events: gives each its sequence, time and bytes, and gathers what commits with them."""

import msgspec

from everyagent.clock import Clock, rfc3339
from everyagent.log.log import (
    Append,
    ClosedAsk,
    FrameDirection,
    FrameForm,
    Input,
    NewAsk,
    NewEvent,
    NewFrame,
    Receipt,
    SessionChanges,
    SessionRecord,
)
from everyagent.model.events import (
    TYPE_NUMBERS,
    Envelope,
    EventData,
    ItemCompleted,
    ItemDelta,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionUpdated,
    StopReason,
    ToolRequested,
    ToolResolved,
    TurnEnded,
    TurnStarted,
    Unparsed,
)
from everyagent.model.ids import new_id
from everyagent.model.items import Item
from everyagent.model.parts import FileRefPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from everyagent.model.prices import UNPRICED, Prices
from everyagent.model.sessions import UnknownFrame
from everyagent.sessions.counts import SAMPLES
from everyagent.sessions.machine.asks import answer_of, ask_id_of, kind_of
from everyagent.sessions.machine.costs import Costs
from everyagent.sessions.machine.projection import Projection
from everyagent.sessions.machine.sequencer import Emissions

_encode = msgspec.json.Encoder().encode
_DELTA = TYPE_NUMBERS[ItemDelta.type]
#: As much of an item's text as full-text search knows it by.
SEARCHABLE_CHARS = 32 * 1024
#: As much of an unknown frame as its sample shows.
SAMPLE_BYTES = 2048


class Scribe:
    """Where the session's log stands, as its owner knows it."""

    def __init__(
        self, record: SessionRecord, clock: Clock, view: Projection | None = None, prices: Prices = UNPRICED
    ) -> None:
        self.view = view
        self.costs = Costs(prices, record.agent, record.model)
        self.session = record.number
        self.session_id = record.session_id
        self.epoch = record.epoch
        self.head = record.last_sequence
        self.frame = record.last_frame
        self.native_session_id = record.native_session_id
        self.usage = record.usage
        self.cost_usd = record.cost_usd
        self.at = record.last_at
        self._clock = clock

    def begin(self) -> "Step":
        self.at = max(self.at, self._clock.micros())
        return Step(self, self.at)


class Step:
    """One atomic step in the making. Say what causes it, tell what follows, finish, append."""

    def __init__(self, scribe: Scribe, at: int) -> None:
        self._scribe = scribe
        self._at = at
        self._time = rfc3339(at)
        self._expected = scribe.head
        self._first_frame = scribe.frame
        self._events: list[NewEvent] = []
        self._frames: list[NewFrame] = []
        self._cause: tuple[FrameDirection, FrameForm, bytes, int] | None = None
        self._asks: list[NewAsk] = []
        self._closed: list[ClosedAsk] = []
        self._changes: dict[str, object] = {}
        self.taken: list[str] = []
        self.inputs: list[Input] = []
        self.receipt: Receipt | None = None
        self.stop_reason: StopReason | None = None
        self.unparsed = 0
        self.unknown: list[UnknownFrame] = []

    def cause(self, direction: FrameDirection, body: bytes, form: FrameForm = "json") -> None:
        """From here on, what is told was made from this frame."""
        self.close()
        self._scribe.frame += 1
        self._cause = (direction, form, body, self._scribe.head + 1)
        if self._scribe.view:
            self._scribe.view.heard(direction, body, self._at)

    def change(self, **changes: object) -> None:
        self._changes.update(changes)

    def native(self, native_session_id: str | None) -> None:
        if native_session_id != self._scribe.native_session_id:
            self._scribe.native_session_id = native_session_id
            self._changes["native_session_id"] = native_session_id

    def tell(self, weave: Emissions) -> None:
        scribe, time, events = self._scribe, self._time, self._events
        for data, synthetic in weave:
            if type(data) is not ItemDelta:
                data = scribe.costs.told(data)
            scribe.head = sequence = scribe.head + 1
            body = _encode(
                Envelope(
                    event_id=new_id("evt_"),
                    sequence=sequence,
                    time=time,
                    session_id=scribe.session_id,
                    native_session_id=scribe.native_session_id,
                    source="daemon" if synthetic else "agent",
                    synthetic=synthetic,
                    type=data.type,
                    data=data,
                )
            )
            if type(data) is ItemDelta:
                events.append(NewEvent(sequence, _DELTA, scribe.frame, body))
            else:
                self._note(data, sequence)
                if scribe.view:
                    scribe.view.told(data)
                text = _searchable(data.item) if isinstance(data, ItemCompleted) else None
                events.append(NewEvent(sequence, TYPE_NUMBERS[data.type], scribe.frame, body, text))

    def _note(self, data: EventData, sequence: int) -> None:
        """What an event means for the session's row and its asks."""
        match data:
            case PermissionRequested() | QuestionRequested() | ToolRequested():
                self._asks.append(NewAsk(ask_id_of(data), kind_of(data), sequence, _encode(data)))
            case PermissionResolved() | QuestionResolved() | ToolResolved():
                self._closed.append(ClosedAsk(ask_id_of(data), _encode(answer_of(data)), sequence))
            case TurnStarted():
                self.change(open_turn=sequence)
            case TurnEnded():
                self.change(open_turn=0)
                self.stop_reason = data.stop_reason
                if data.usage:
                    self._scribe.usage += data.usage
                    self.change(usage=self._scribe.usage)
                if data.cost_usd:
                    self._scribe.cost_usd += data.cost_usd
                    self.change(cost_usd=self._scribe.cost_usd)
            case Unparsed():
                self.unparsed += 1
                if len(self.unknown) < SAMPLES:
                    self.unknown.append(self._sample(data, sequence))
            case SessionUpdated():
                self.change(**{name: value for name in _UPDATED if (value := getattr(data, name)) is not msgspec.UNSET})
            case _:
                return

    def _sample(self, data: Unparsed, sequence: int) -> UnknownFrame:
        frame = self._cause[2][:SAMPLE_BYTES].decode("utf-8", "backslashreplace") if self._cause else ""
        return UnknownFrame(
            session_id=self._scribe.session_id, sequence=sequence, time=self._time, error=data.error, frame=frame
        )

    def close(self) -> None:
        """All that the last frame gave rise to is told."""
        if self._cause:
            direction, form, body, first = self._cause
            self._frames.append(NewFrame(self._scribe.frame, direction, form, body, first, self._scribe.head))
            self._cause = None
            if self._scribe.view:
                self._scribe.view.settle()

    def finish(self) -> Append:
        self.close()
        return Append(
            session=self._scribe.session,
            epoch=self._scribe.epoch,
            expected=self._expected,
            at=self._at,
            events=self._events,
            frames=self._frames,
            changes=SessionChanges(**self._changes) if self._changes else None,  # pyright: ignore[reportArgumentType]
            asks=self._asks,
            closed_asks=self._closed,
            inputs=self.inputs,
            taken_inputs=self.taken,
            receipt=self.receipt,
            view=self._scribe.view.take() if self._scribe.view else None,
        )

    def undo(self) -> None:
        """It was not written: the next step takes its place."""
        self._scribe.head = self._expected
        self._scribe.frame = self._first_frame
        if self._scribe.view:
            self._scribe.view.undo()


_UPDATED = tuple(name for name in SessionUpdated.__struct_fields__ if name != "tool_policies")  # those are in `config`


def _searchable(item: Item) -> str | None:
    words: list[str] = []
    for part in item.content:
        match part:
            case TextPart() | ReasoningPart():
                words.append(part.text)
            case ToolCallPart():
                words.append(f"{part.name} {part.arguments}")
            case ToolResultPart():
                words.append(part.output)
            case FileRefPart():
                words.append(f"{part.path} {part.diff or ''}")
            case _:
                continue
    return "\n".join(words)[:SEARCHABLE_CHARS] or None
