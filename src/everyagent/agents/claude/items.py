"""Claude Code's messages, calls and notices as universal items. Pure; used by everything that decodes."""

from collections.abc import Sequence

from everyagent.agents.adapter import Draft
from everyagent.agents.mcp_names import server_and_tool
from everyagent.model.events import ItemCompleted, ItemStarted
from everyagent.model.items import Item, ItemRole, ItemStatus
from everyagent.model.parts import ContentPart, StatusPart, ToolCallPart


def message(
    key: str,
    *,
    subagent: str | None,
    role: ItemRole = "assistant",
    content: Sequence[ContentPart] = (),
    status: ItemStatus = "in_progress",
    error: str | None = None,
) -> Item:
    return Item(
        item_id=key,
        native_item_id=key,
        parent_id=None,
        kind="message",
        role=role,
        status=status,
        content=list(content),
        subagent=subagent,
        error=error,
    )


def call(id: str, name: str, *, arguments: str, parent: str, subagent: str | None, status: ItemStatus) -> Item:
    server, tool = server_and_tool(name)
    return Item(
        item_id=id,
        native_item_id=id,
        parent_id=parent,
        kind="tool_call",
        role="assistant",
        status=status,
        content=[ToolCallPart(name=tool, arguments=arguments, call_id=id, mcp_server=server)],
        subagent=subagent,
        name=tool,
    )


def system(key: str, text: ContentPart) -> Item:
    return Item(
        item_id=key,
        native_item_id=key,
        parent_id=None,
        kind="system",
        role="system",
        status="completed",
        content=[text],
    )


def status(
    key: str, name: str, parts: Sequence[StatusPart], *, parent: str | None = None, state: ItemStatus = "completed"
) -> Item:
    return Item(
        item_id=key,
        native_item_id=key,
        parent_id=parent,
        kind="status",
        role="system",
        status=state,
        content=list(parts),
        name=name,
    )


def whole(item: Item) -> tuple[Draft, Draft]:
    """An item that one frame begins and completes."""
    return (ItemStarted(item=item), ItemCompleted(item=item))
