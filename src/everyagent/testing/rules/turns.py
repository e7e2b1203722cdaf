"""Order rules a, e, g and j: sessions and turns."""

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from everyagent.model.events import (
    ItemCompleted,
    ItemStarted,
    ModelResponded,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.items import Item, text_of
from everyagent.testing.rules.rule import AnyEvent, Momentary


class RuleA(Momentary):
    """`session.started` is first and once; nothing follows `session.ended`."""

    name: ClassVar[str] = "a"

    def __init__(self) -> None:
        self._started = False
        self._ended = False

    def see(self, event: AnyEvent) -> Iterator[str]:
        if self._ended:
            yield f"{event.type} follows session.ended"
        match event.data:
            case SessionStarted():
                if self._started:
                    yield "a second session.started"
            case _:
                if not self._started:
                    yield f"{event.type} before session.started"
        self._started = True
        self._ended = self._ended or isinstance(event.data, SessionEnded)


class RuleE:
    """Each turn has one `turn.started` and one `turn.ended`, no two are open, and items name their turn."""

    name: ClassVar[str] = "e"

    def __init__(self) -> None:
        self._open: str | None = None
        self._known: set[str] = set()
        self._items: dict[str, str | None] = {}

    def see(self, event: AnyEvent) -> Iterator[str]:
        match event.data:
            case TurnStarted(turn_id=turn):
                if self._open is not None:
                    yield f"turn {turn} starts while {self._open} is open"
                if turn in self._known:
                    yield f"turn {turn} starts twice"
                self._open = turn
                self._known.add(turn)
            case TurnEnded(turn_id=turn):
                if self._open != turn:
                    yield f"turn {turn} ends while {self._open or 'none'} is open"
                self._open = None
            case ItemStarted(item=item):
                self._items[item.item_id] = item.turn_id
                if item.turn_id != self._open:
                    yield f"item {item.item_id} says turn {item.turn_id} while {self._open or 'none'} is open"
            case ItemCompleted(item=item):
                started_in = self._items.pop(item.item_id, item.turn_id)
                if item.turn_id != started_in:
                    yield f"item {item.item_id} was started in turn {started_in} and says {item.turn_id} in the end"
            case ModelResponded(turn_id=turn):
                if turn != self._open:
                    yield f"a model's response says turn {turn} while {self._open or 'none'} is open"
            case SessionEnded():
                yield from self.end()
            case _:
                pass

    def end(self) -> Iterator[str]:
        if self._open is not None:
            yield f"turn {self._open} never ended"
            self._open = None


class RuleJ(Momentary):
    """Only the agent reports that its own session started; a fork has copies of its origin's events."""

    name: ClassVar[str] = "j"

    def __init__(self) -> None:
        self._fork = False

    def see(self, event: AnyEvent) -> Iterator[str]:
        match event.data:
            case SessionStarted(metadata=metadata):
                self._fork = "forked_from" in (metadata or {})
            case SessionUpdated(native_session_id=str()) if event.source != "agent" and not self._fork:
                yield "a native session that the agent did not report"
            case _:
                pass


class RuleG:
    """A user message is one item, which the daemon starts. The agent's echo completes it, and is no item of its own.

    A turn the agent began by itself has no input; a message steered into a turn is none of its inputs.
    """

    name: ClassVar[str] = "g"

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._taken: set[str] = set()
        self._awaited: list[str] = []
        self._foreign: set[str] = set()
        self._echoed: Counter[str] = Counter()
        self._made: Counter[str] = Counter()

    def see(self, event: AnyEvent) -> Iterator[str]:
        match event.data:
            case TurnStarted(input_item_ids=inputs):
                self._awaited = inputs
                self._echoed.clear()
                self._made.clear()
                for item_id in inputs:
                    if item_id in self._taken:
                        yield f"input {item_id} is taken a second time"
                    self._taken.add(item_id)
            case ItemStarted(item=item) if _from_user(item) and event.source == "agent":
                self._foreign.add(item.item_id)
                if item.item_id in self._awaited:
                    yield f"input {item.item_id} was not started by the daemon"
            case ItemCompleted(item=item) if _from_user(item):
                self._seen.add(item.item_id)
                text = text_of(item)
                (self._echoed if item.item_id in self._foreign else self._made)[text] += 1
                self._foreign.discard(item.item_id)
                if self._made[text] and self._echoed[text]:
                    yield f"user message {item.item_id} is both the agent's echo and the daemon's own"
            case TurnEnded():
                yield from self.end()
            case _:
                pass

    def end(self) -> Iterator[str]:
        for item_id in self._awaited:
            if item_id not in self._seen:
                yield f"input {item_id} has no user message"
        self._awaited = []


def _from_user(item: Item) -> bool:
    return item.kind == "message" and item.role == "user" and item.subagent is None
