"""Universal ids of items, and their parents, by the keys of an adapter. Used by the sequencer."""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import TypeVar

from msgspec.structs import replace

from everyagent.model.items import Item
from everyagent.model.parts import ToolCallPart, ToolResultPart
from everyagent.sessions.machine.open_item import next_id, starting_content

#: So many items and calls are remembered, for events that refer back to them.
REMEMBERED = 4096
T = TypeVar("T")


class ItemIds:
    """Keys are scoped by turn: `_items` are the running turn's, `_earlier` those of turns before.

    An item whose key was used in an earlier turn is a new item; parents, sub-agents and asks find earlier ones, too.
    With `derived`, keys are ids already (`remote/item_ids.py`).
    """

    __slots__ = ("_calls", "_derived", "_earlier", "_items", "_new", "_speaker")

    def __init__(self, new: Callable[[str], str], *, derived: bool) -> None:
        self._new = new
        self._derived = derived
        self._items: dict[str, str] = {}
        self._earlier: dict[str, str] = {}
        self._calls: dict[str, str | None] = {}
        self._speaker: str | None = None

    def copy(self) -> "ItemIds":
        twin = copy(self)
        twin._items, twin._earlier, twin._calls = {**self._items}, {**self._earlier}, {**self._calls}
        return twin

    def __contains__(self, key: str) -> bool:
        """Whether the running turn has the item."""
        return key in self._items

    def find(self, key: str | None) -> str | None:
        """The universal id of an item that the adapter refers to."""
        return (self._items.get(key) or self._earlier.get(key)) if key else None

    def key_of(self, item_id: str) -> str | None:
        """The adapter's key for an item."""
        known = (*self._items.items(), *self._earlier.items())
        return next((key for key, universal in known if universal == item_id), None)

    def begin_turn(self, still_open: Mapping[str, str]) -> None:
        """The ids of open items by their keys are those of the new turn, too."""
        self._earlier.update(self._items)
        while len(self._earlier) > REMEMBERED:
            del self._earlier[next(iter(self._earlier))]
        self._items = {**still_open}

    def no_speaker(self) -> None:
        """The next tool call without a parent is not that of an earlier message."""
        self._speaker = None

    def add(self, key: str, item_id: str) -> None:
        self._items[key] = item_id

    def leave(self, key: str) -> None:
        """The key is free for another item of this turn."""
        self._earlier[key] = self._items.pop(key)

    def next(self, key: str, ended: str) -> str:
        """The id of another item for the rest of an item that was ended."""
        item_id = next_id(ended) if self._derived else self._new("itm_")
        if self._speaker == ended:
            self._speaker = item_id
        self._earlier[key] = ended
        _keep(self._items, key, item_id)
        return item_id

    def started(self, item: Item, turn_id: str | None) -> Item:
        """The item as it starts: universal ids, a parent where the rules want one, no text yet."""
        item_id = self._items.get(item.item_id) or self._new_item(item.item_id)
        parent = self.find(item.parent_id)
        subagent = self.find(item.subagent)
        match item.kind:
            case "tool_call":
                parent = parent or self._speaker
                for part in item.content:
                    if isinstance(part, ToolCallPart):
                        _keep(self._calls, part.call_id, parent)
            case "tool_result":
                calls = [self._calls.get(part.call_id) for part in item.content if isinstance(part, ToolResultPart)]
                parent = parent or next((call for call in calls if call), self._speaker)
            case "message" if not item.subagent and (item.role == "assistant" or not self._speaker):
                self._speaker = item_id
            case _:
                pass
        _keep(self._items, item.item_id, item_id)
        return replace(
            item,
            item_id=item_id,
            parent_id=parent,
            subagent=subagent,
            turn_id=turn_id,
            status="in_progress",
            content=starting_content(item),
            error=None,
        )

    def _new_item(self, key: str) -> str:
        return key if self._derived and key.startswith("itm_") and key not in self._earlier else self._new("itm_")

    def missing_calls(self, item: Item) -> Iterator[Item]:
        """A call for each result in the item whose call is unknown."""
        for part in item.content:
            if isinstance(part, ToolResultPart) and part.call_id not in self._calls:
                content = [ToolCallPart(name=item.name or "unknown", arguments="{}", call_id=part.call_id)]
                key = f"call {part.call_id}"
                yield replace(item, item_id=key, kind="tool_call", status="completed", content=content, error=None)

    def observe(self, item: Item) -> None:
        """An item that is in the log already has started."""
        self._items[item.item_id] = item.item_id
        if item.kind == "message" and not item.subagent and (item.role == "assistant" or not self._speaker):
            self._speaker = item.item_id
        for part in item.content:
            if isinstance(part, ToolCallPart):
                _keep(self._calls, part.call_id, item.parent_id)


def _keep(memory: dict[str, T], key: str, value: T) -> None:
    memory[key] = value
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]
