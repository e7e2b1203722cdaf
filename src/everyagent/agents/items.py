"""Makes the items that adapters draft, under the adapter's own keys. Pure."""

from collections.abc import Sequence

from everyagent.agents.adapter import Draft
from everyagent.model.events import ItemCompleted
from everyagent.model.items import Item, ItemRole, ItemStatus
from everyagent.model.parts import ContentPart, StatusPart, ToolCallPart


def message(
    key: str,
    *,
    native: str | None,
    subagent: str | None,
    role: ItemRole = "assistant",
    content: Sequence[ContentPart] = (),
    status: ItemStatus = "in_progress",
    name: str | None = None,
    error: str | None = None,
) -> Item:
    return Item(
        item_id=key,
        native_item_id=native,
        parent_id=None,
        kind="message",
        role=role,
        status=status,
        content=list(content),
        subagent=subagent,
        name=name,
        error=error,
    )


def call(
    key: str, part: ToolCallPart, *, native: str, subagent: str | None, status: ItemStatus, parent: str | None = None
) -> Item:
    return Item(
        item_id=key,
        native_item_id=native,
        parent_id=parent,
        kind="tool_call",
        role="assistant",
        status=status,
        content=[part],
        subagent=subagent,
        name=part.name,
    )


def result(
    key: str,
    name: str,
    content: Sequence[ContentPart],
    *,
    native: str,
    subagent: str | None,
    status: ItemStatus,
    error: str | None = None,
) -> Item:
    return Item(
        item_id=key,
        native_item_id=native,
        parent_id=None,
        kind="tool_result",
        role="tool",
        status=status,
        content=list(content),
        subagent=subagent,
        name=name,
        error=error,
    )


def system(key: str, part: ContentPart, *, native: str) -> Item:
    return Item(
        item_id=key,
        native_item_id=native,
        parent_id=None,
        kind="system",
        role="system",
        status="completed",
        content=[part],
    )


def status(
    key: str,
    name: str,
    parts: Sequence[ContentPart],
    *,
    native: str | None = None,
    parent: str | None = None,
    subagent: str | None = None,
    state: ItemStatus = "completed",
) -> Item:
    return Item(
        item_id=key,
        native_item_id=native,
        parent_id=parent,
        kind="status",
        role="system",
        status=state,
        content=list(parts),
        subagent=subagent,
        name=name,
    )


def notice(key: str, name: str, label: str, detail: str | None = None, *, parent: str | None = None) -> Sequence[Draft]:
    return whole(status(key, name, [StatusPart(label=label, detail=detail)], parent=parent))


def whole(item: Item) -> tuple[Draft]:
    """Drafts for an item that arrives complete. The agent does not report its start, so the session adds it."""
    return (ItemCompleted(item=item),)
