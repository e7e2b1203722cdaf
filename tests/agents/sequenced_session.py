"""The events of a session, made from decoder drafts by the sequencer. For recorded exchanges of any agent."""

from collections.abc import Iterable

import msgspec

from everyagent.agents.adapter import Draft, Echo, NativeSession, Synthetic
from everyagent.model.asks import Answer
from everyagent.model.events import (
    Envelope,
    Event,
    EventData,
    PermissionRequested,
    QuestionRequested,
    SessionStarted,
    SessionUpdated,
)
from everyagent.model.items import Item
from everyagent.model.parts import TextPart
from everyagent.sessions.machine.sequencer import Emission, Sequencer
from everyagent.testing.rules import Rules


class SequencedSession:
    """`native` is the agent's own id of the session; `echo`: the agent repeats user messages."""

    def __init__(self, native: str | None = None, *, echo: bool = False) -> None:
        self._echo = echo
        self.events: list[Event] = []
        self.native = native
        self.order = Sequencer(self._id)
        self._counts: dict[str, int] = {}
        self._asked: dict[str, str] = {}  # the adapter's key of an ask -> the universal one
        self.emit([Emission(SessionStarted(), True)])

    def _id(self, prefix: str) -> str:
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}{self._counts[prefix]:06}"

    def prompted(self) -> None:
        """Start a turn, or steer a message into the running one."""
        item = Item(
            item_id=self._id("itm_"),
            native_item_id=None,
            parent_id=None,
            kind="message",
            role="user",
            status="completed",
            content=[TextPart(text="(a prompt)")],
        )
        speak = self.order.say if self.order.turn_id else self.order.start_turn
        self.emit(speak([item], echo=self._echo))

    def draft(self, draft: Draft) -> None:
        match draft:
            case NativeSession():
                self.native = draft.id
                if draft.started:
                    self.emit([Emission(SessionUpdated(native_session_id=draft.id), False)])
            case Echo():
                self.emit(self.order.echoed(draft.native_item_id))
            case Synthetic(data=data):
                self._apply(data, synthetic=True)
            case _:
                self._apply(draft)

    def _apply(self, data: EventData, *, synthetic: bool = False) -> None:
        match data:
            case PermissionRequested() | QuestionRequested():
                emissions = self.order.apply(data, synthetic=synthetic)
                key = data.permission_id if isinstance(data, PermissionRequested) else data.question_id
                for request in [emission.data for emission in emissions]:
                    if isinstance(request, PermissionRequested):
                        self._asked[key] = request.permission_id
                    elif isinstance(request, QuestionRequested):
                        self._asked[key] = request.question_id
                self.emit(emissions)
            case _:
                self.emit(self.order.apply(data, synthetic=synthetic))

    def pending(self, key: str) -> bool:
        """Whether the ask with the adapter's key is open."""
        return self.order.asks.pending(self._asked.get(key, "")) is not None

    def answered(self, key: str, answer: Answer) -> None:
        if self.pending(key):
            resolved = self.order.asks.resolve(self._asked[key], answer)
            self.order.asks.forget(resolved)
            self.emit([Emission(resolved, True)])

    def cut(self) -> None:
        """The agent's process ended."""
        self.emit(self.order.end_turn("error", "The process ended."))

    def emit(self, emissions: Iterable[Emission]) -> None:
        for emission in emissions:
            data, synthetic = emission.data, emission.synthetic
            sequence = len(self.events) + 1
            self.events.append(
                Envelope(
                    event_id=f"evt_{sequence:06}",
                    sequence=sequence,
                    time="2026-01-01T00:00:00.000000Z",
                    session_id="s",
                    native_session_id=self.native,
                    source="daemon" if synthetic else "agent",
                    synthetic=synthetic,
                    type=data.type,
                    data=data,
                )
            )


def violations(events: Iterable[Event]) -> list[str]:
    rules = Rules()
    for event in events:
        rules.feed_body(msgspec.json.encode(event))
    return [str(each) for each in rules.finish()]
