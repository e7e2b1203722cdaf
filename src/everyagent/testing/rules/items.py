"""Order rules b, c, d and h: items."""

from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar

from everyagent.model.events import ItemCompleted, ItemDelta, ItemStarted, SessionEnded, TurnEnded
from everyagent.model.items import Item, ItemRole, reasoning_of, text_of
from everyagent.model.parts import ReasoningPart, ToolCallPart, ToolResultPart
from everyagent.testing.rules.rule import AnyEvent, Momentary


class RuleB:
    """Every item: one `item.started`, any deltas of its role, one `item.completed`; none is open after its turn."""

    name: ClassVar[str] = "b"

    def __init__(self) -> None:
        self._open: dict[str, ItemRole | None] = {}
        self._closed: set[str] = set()

    def see(self, event: AnyEvent) -> Iterator[str]:
        match event.data:
            case ItemStarted(item=item):
                yield from self._start(item)
            case ItemDelta(item_id=item_id, role=role):
                if item_id in self._closed:
                    yield f"a delta for item {item_id} after it was completed"
                elif item_id in self._open and role != self._open[item_id]:
                    yield f"a delta of item {item_id} has the role {role}, and the item has {self._open[item_id]}"
            case ItemCompleted(item=item):
                yield from self._complete(item)
            case TurnEnded() | SessionEnded():
                yield from self.end()
            case _:
                pass

    def _start(self, item: Item) -> Iterator[str]:
        if item.item_id in self._open or item.item_id in self._closed:
            yield f"item {item.item_id} starts twice"
        if item.status != "in_progress":
            yield f"item {item.item_id} starts as {item.status}"
        self._open[item.item_id] = item.role

    def _complete(self, item: Item) -> Iterator[str]:
        if item.item_id in self._closed:
            yield f"item {item.item_id} is completed twice"
        elif item.item_id not in self._open:
            yield f"item {item.item_id} is completed but never started"
        if item.status == "in_progress":
            yield f"item {item.item_id} is completed but in progress"
        if item.error is not None and item.status != "failed":
            yield f"item {item.item_id} has an error but is {item.status}"
        self._open.pop(item.item_id, None)
        self._closed.add(item.item_id)

    def end(self) -> Iterator[str]:
        for item_id in sorted(self._open):
            yield f"item {item_id} was left open"
        self._closed.update(self._open)
        self._open.clear()


class RuleC(Momentary):
    """The text deltas of an item, joined, are its final text; reasoning likewise, in messages of its own.

    Tool output may be cut or cleaned up in the end.
    """

    name: ClassVar[str] = "c"

    def __init__(self) -> None:
        self._deltas: dict[str, list[ItemDelta]] = defaultdict(list)

    def see(self, event: AnyEvent) -> Iterator[str]:
        match event.data:
            case ItemDelta() as delta:
                self._deltas[delta.item_id].append(delta)
            case ItemCompleted(item=item):
                deltas = self._deltas.pop(item.item_id, [])
                yield from self._same(item, deltas, "text", text_of(item))
                yield from self._same(item, deltas, "reasoning", reasoning_of(item))
                yield from self._apart(item)
            case _:
                pass

    def _same(self, item: Item, deltas: list[ItemDelta], kind: str, final: str) -> Iterator[str]:
        streamed = "".join(delta.delta for delta in deltas if delta.kind == kind)
        if streamed != final:
            yield _differs(item, kind, streamed, final)

    def _apart(self, item: Item) -> Iterator[str]:
        reasoning = [isinstance(part, ReasoningPart) for part in item.content]
        if item.kind == "message" and any(reasoning) and not all(reasoning):
            yield f"item {item.item_id} has reasoning beside other content"


def _differs(item: Item, what: str, streamed: str, final: str) -> str:
    return f"the {what} of item {item.item_id} was streamed as {streamed[:80]!r} but is {final[:80]!r}"


class RuleD(Momentary):
    """A tool_result has its tool_call before it; the parent of both is a message seen before."""

    name: ClassVar[str] = "d"

    def __init__(self) -> None:
        self._messages: set[str] = set()
        self._calls: set[str] = set()

    def see(self, event: AnyEvent) -> Iterator[str]:
        match event.data:
            case ItemStarted(item=item) | ItemCompleted(item=item):
                if item.kind == "message":
                    self._messages.add(item.item_id)
                if item.kind in ("tool_call", "tool_result") and item.parent_id not in self._messages:
                    yield f"{item.kind} {item.item_id} has the parent {item.parent_id}, which is no message before it"
                yield from self._parts(item)
            case _:
                pass

    def _parts(self, item: Item) -> Iterator[str]:
        for part in item.content:
            match part:
                case ToolCallPart(call_id=call_id):
                    self._calls.add(call_id)
                    if item.kind != "tool_call":
                        yield f"a tool_call inside item {item.item_id}, which is a {item.kind}"
                case ToolResultPart(call_id=call_id):
                    if call_id not in self._calls:
                        yield f"the result of call {call_id} comes without its tool_call"
                    if item.kind != "tool_result":
                        yield f"a tool_result inside item {item.item_id}, which is a {item.kind}"
                case _:
                    pass


class RuleH(Momentary):
    """Deltas and children of an item come after its `item.started`, which may be a stub by the daemon."""

    name: ClassVar[str] = "h"

    def __init__(self) -> None:
        self._started: set[str] = set()

    def see(self, event: AnyEvent) -> Iterator[str]:
        match event.data:
            case ItemStarted(item=item):
                yield from self._belongs(item)
                self._started.add(item.item_id)
            case ItemCompleted(item=item):
                yield from self._belongs(item)
            case ItemDelta(item_id=item_id):
                if item_id not in self._started:
                    yield f"a delta for item {item_id}, which was never started"
            case _:
                pass

    def _belongs(self, item: Item) -> Iterator[str]:
        for owner in (item.parent_id, item.subagent):
            if owner is not None and owner not in self._started:
                yield f"item {item.item_id} belongs to {owner}, which was never started"
