"""One transaction of a session: numbers and encodes its events, and gathers all that commits with them."""

from copy import copy
from typing import cast

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from everyagent.agents.adapter import Frame
from everyagent.clock import rfc3339
from everyagent.log.log import (
    Append,
    Charge,
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
from everyagent.log.usage import UsageEntry
from everyagent.masking.masker import NOTHING, Masker
from everyagent.model.events import (
    TYPE_NUMBERS,
    Envelope,
    EventData,
    ItemCompleted,
    ItemDelta,
    ModelResponded,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionUpdated,
    ToolRequested,
    ToolResolved,
    TurnEnded,
    TurnStarted,
    Unparsed,
)
from everyagent.model.ids import id_series
from everyagent.model.prices import UNPRICED, Prices
from everyagent.model.principals import EventActor
from everyagent.model.sessions import UnknownFrame
from everyagent.model.usage import Usage
from everyagent.sessions.counts import SAMPLES
from everyagent.sessions.machine.asks import answer_of, ask_id_of, kind_of
from everyagent.sessions.machine.costs import Costs
from everyagent.sessions.machine.projection import Projection
from everyagent.sessions.machine.searchable import searchable
from everyagent.sessions.machine.sequencer import Emissions
from everyagent.sessions.machine.session_mask import masked_data

_encode = msgspec.json.Encoder().encode
_DELTA = TYPE_NUMBERS[ItemDelta.type]
#: The sample of an unknown frame is cut to this.
SAMPLE_BYTES = 2048


class LogPosition:
    """The end of a session's log as its owner knows it, and the totals of its row. Transactions move it on.

    `payer` has the key that pays for the running turn; `unpaid` is the cost that it was charged before the turn's
    whole cost is known, below zero.
    """

    __slots__ = (
        "at",
        "cost_usd",
        "costs",
        "epoch",
        "frame",
        "head",
        "native_session_id",
        "payer",
        "session",
        "session_id",
        "unpaid",
        "usage",
    )

    def __init__(self, record: SessionRecord, prices: Prices = UNPRICED) -> None:
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
        self.payer: EventActor | None = None
        self.unpaid = 0.0

    def copy(self) -> "LogPosition":
        twin = copy(self)
        twin.costs = copy(self.costs)
        return twin


class Transaction:
    """Everything that commits at once: begin a frame, emit the events made from it, then finish.

    A projection of the session is given the same frames and events, and adds its own step. `masker` hides the session's
    secrets from all of it: this is the one place that everything passes before it is stored.
    """

    def __init__(
        self, position: LogPosition, now: int, projection: "Projection | None" = None, masker: Masker = NOTHING
    ) -> None:
        self._masker = masker or None  # a session without secrets pays one test for None
        position.at = at = max(position.at, now)
        self._position = position
        self._projection = projection
        self._at = at
        self._time = rfc3339(at)
        self._ids = id_series("evt_")
        self._delta_format: bytes | None = None
        self._expected = position.head
        self._frames: list[NewFrame] = []
        self._frame: tuple[FrameDirection, FrameForm, bytes, int] | None = None
        self._optional = False
        self._asks: list[NewAsk] = []
        self._closed_asks: list[ClosedAsk] = []
        self._changes: dict[str, object] = {}
        self._charges: list[Charge] = []
        self._used: list[UsageEntry] = []
        self.actor: EventActor | UnsetType = UNSET
        self.events: list[NewEvent] = []
        self.inputs: list[Input] = []
        self.taken_inputs: list[str] = []
        self.receipt: Receipt | None = None
        self.ended_turns: list[TurnEnded] = []
        self.unparsed = 0
        self.samples: list[UnknownFrame] = []

    def begin_frame(
        self,
        direction: FrameDirection,
        body: bytes,
        form: FrameForm = "json",
        *,
        optional: bool = False,
        actor: EventActor | UnsetType = UNSET,
    ) -> None:
        """The events that follow are made from this frame. An `optional` one is kept only if there are any.

        `actor` is the client that sent it.
        """
        self.end_frame()
        self.actor = actor
        if self._masker and self._masker.suspects(body):
            body = self._masker.mask_json(body) if form == "json" else self._masker.mask(body)
        self._position.frame += 1
        self._frame = (direction, form, body, self._position.head + 1)
        self._optional = optional
        if self._projection:
            self._projection.begin_frame(direction, body, self._at)

    def end_frame(self) -> None:
        """All events of the current frame are emitted."""
        if not self._frame:
            return
        position = self._position
        direction, form, body, first = self._frame
        self._frame, self.actor = None, UNSET
        if self._optional and position.head < first:
            position.frame -= 1
        else:
            self._frames.append(NewFrame(position.frame, direction, form, body, first, position.head))
        if self._projection:
            self._projection.end_frame()

    def change(self, **changes: object) -> None:
        """New values for the session's row."""
        self._changes.update(changes)

    @property
    def config(self) -> bytes | None:
        """The row's new configuration, if it changes."""
        return cast("bytes | None", self._changes.get("config"))

    def set_native_session(self, native_session_id: str | None) -> None:
        if native_session_id != self._position.native_session_id:
            self._position.native_session_id = native_session_id
            self._changes["native_session_id"] = native_session_id
            self._delta_format = None

    @property
    def quick(self) -> bool:
        """`add_delta` may be used: nobody else is given the frames, and nothing is masked."""
        return self._projection is None and self._masker is None

    def add_delta(self, frame: Frame, delta: ItemDelta) -> None:
        """The same as `begin_frame`, `emit` and `end_frame` for the usual frame of a busy agent: one delta."""
        self.end_frame()
        position = self._position
        position.frame = number = position.frame + 1
        position.head = sequence = position.head + 1
        body = (self._delta_format or self._new_delta_format()) % (self._ids.number(), sequence, _encode(delta))
        self.events.append(NewEvent(sequence, _DELTA, number, body))
        self._frames.append(NewFrame(number, frame.direction, frame.form, frame.body, sequence, sequence))

    def _new_delta_format(self) -> bytes:
        """An encoded envelope in which only the number of the id, the sequence and the data are missing.

        Control characters take their places: encoded JSON has none.
        """
        envelope = Envelope(
            event_id=cast("str", Raw(b"\1")),
            sequence=cast("int", Raw(b"\2")),
            time=self._time,
            session_id=self._position.session_id,
            native_session_id=self._position.native_session_id,
            source="agent",
            synthetic=False,
            type=ItemDelta.type,
            data=Raw(b"\3"),
        )
        event_id = f'"{self._ids.start}%06x{self._ids.end}"'.encode()
        whole = _encode(envelope).replace(b"%", b"%%")
        self._delta_format = whole.replace(b"\1", event_id).replace(b"\2", b"%d").replace(b"\3", b"%b")
        return self._delta_format

    def emit(self, emissions: Emissions) -> None:
        position, time, events, masker = self._position, self._time, self.events, self._masker
        for emission in emissions:
            data, synthetic = emission.data, emission.synthetic
            if type(data) is not ItemDelta:
                data = position.costs.completed(data)
            position.head = sequence = position.head + 1
            envelope = Envelope(
                event_id=self._ids.new(),
                sequence=sequence,
                time=time,
                session_id=position.session_id,
                native_session_id=position.native_session_id,
                source="daemon" if synthetic else "agent",
                synthetic=synthetic,
                actor=self.actor,
                type=data.type,
                data=data,
            )
            body = _encode(envelope)
            if masker and masker.suspects(body):
                data = masked_data(masker, data)
                body = _encode(replace(envelope, data=data))
            if type(data) is ItemDelta:
                events.append(NewEvent(sequence, _DELTA, position.frame, body))
            else:
                self._note(data, sequence)
                if self._projection:
                    self._projection.event(data)
                text = searchable(data.item) if isinstance(data, ItemCompleted) else None
                events.append(NewEvent(sequence, TYPE_NUMBERS[data.type], position.frame, body, text))

    def _note(self, data: EventData, sequence: int) -> None:
        """Changes of the session's row and its asks that an event implies."""
        match data:
            case PermissionRequested() | QuestionRequested() | ToolRequested():
                self._asks.append(NewAsk(ask_id_of(data), kind_of(data), sequence, _encode(data)))
            case PermissionResolved() | QuestionResolved() | ToolResolved():
                self._closed_asks.append(ClosedAsk(ask_id_of(data), _encode(answer_of(data)), sequence))
                if not isinstance(data, ToolResolved):
                    self._use(None)
            case TurnStarted():
                self.change(open_turn=sequence)
                self._position.payer = self.actor or None
            case ModelResponded():
                self._charge(data.cost_usd or 0.0)
            case TurnEnded():
                self.change(open_turn=0)
                self.ended_turns.append(data)
                self._use(data)
                if data.usage:
                    self._position.usage += data.usage
                    self.change(usage=self._position.usage)
                if data.cost_usd:
                    self._position.cost_usd += data.cost_usd
                    self.change(cost_usd=self._position.cost_usd)
                    self._charge(data.cost_usd + self._position.unpaid)
                self._position.payer, self._position.unpaid = None, 0.0
            case Unparsed():
                self._unknown(data.error, sequence)
            case ItemCompleted() if data.item.kind == "unknown":
                self._unknown(f"unknown item {data.item.name!r}", sequence)
            case SessionUpdated():
                self.change(**{name: value for name in _UPDATED if (value := getattr(data, name)) is not msgspec.UNSET})
            case _:
                return

    def _use(self, ended: TurnEnded | None) -> None:
        """Counts a turn that ended, or the time in which the answer to an ask was waited for."""
        model, payer = self._position.costs.model, self._position.payer.key_id if self._position.payer else ""
        if ended is None:
            use = UsageEntry(model=model, key_id=payer, answered=True)
        else:
            usage, cost = ended.usage or Usage(), ended.cost_usd or 0.0
            use = UsageEntry(model=model, key_id=payer, turns=1, usage=usage, cost_usd=cost)
        self._used.append(use)

    def _charge(self, usd: float) -> None:
        """Each response of the model is charged at once, and the rest at the end of the turn."""
        if usd and self._position.payer is not None:
            self._position.unpaid -= usd
            self._charges.append(Charge(self._position.payer.key_id, usd))

    def _unknown(self, error: str, sequence: int) -> None:
        self.unparsed += 1
        if len(self.samples) < SAMPLES:
            frame = self._frame[2][:SAMPLE_BYTES].decode("utf-8", "backslashreplace") if self._frame else ""
            session_id = self._position.session_id
            self.samples.append(
                UnknownFrame(session_id=session_id, sequence=sequence, time=self._time, error=error, frame=frame)
            )

    @property
    def session_id(self) -> str:
        return self._position.session_id

    @property
    def empty(self) -> bool:
        """Nothing is to be committed."""
        return not (self._frames or self.events or self._changes or self.inputs or self.taken_inputs or self.receipt)

    def finish(self) -> Append:
        self.end_frame()
        return Append(
            session=self._position.session,
            epoch=self._position.epoch,
            expected=self._expected,
            at=self._at,
            events=self.events,
            frames=self._frames,
            changes=SessionChanges(**self._changes) if self._changes else None,  # pyright: ignore[reportArgumentType]
            asks=self._asks,
            closed_asks=self._closed_asks,
            inputs=self.inputs,
            taken_inputs=self.taken_inputs,
            receipt=self.receipt,
            projection=self._projection.take() if self._projection else None,
            charges=self._charges,
            used=self._used,
        )


#: The others are in `config`; the native session is set with `set_native_session`.
_NOT_UPDATED = ("tool_policies", "ask_timeout", "budget_usd", "budget_tokens", "native_session_id")
_UPDATED = tuple(name for name in SessionUpdated.__struct_fields__ if name not in _NOT_UPDATED)
