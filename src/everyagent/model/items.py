"""Items: the units of a conversation, such as messages, tool calls and tool results."""

from typing import Literal, TypeAlias

from msgspec import Struct

from everyagent.model.parts import ContentPart, ReasoningPart, TextPart

ItemKind: TypeAlias = Literal["message", "tool_call", "tool_result", "system", "status", "unknown"]
ItemRole: TypeAlias = Literal["user", "assistant", "system", "tool"]
ItemStatus: TypeAlias = Literal["in_progress", "completed", "failed"]


class Item(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`subagent` is the item id of the tool call whose sub-agent made this item."""

    item_id: str
    native_item_id: str | None
    parent_id: str | None
    kind: ItemKind
    role: ItemRole | None
    status: ItemStatus
    content: list[ContentPart]
    turn_id: str | None = None
    subagent: str | None = None
    name: str | None = None
    error: str | None = None


def text_of(item: Item) -> str:
    """The item's text parts joined, which equals its joined `text` deltas."""
    return "".join(part.text for part in item.content if isinstance(part, TextPart))


def reasoning_of(item: Item) -> str:
    return "".join(part.text for part in item.content if isinstance(part, ReasoningPart))
