"""Makes items of Amp's messages and calls. Pure; used by `decode.py`."""

from collections.abc import Sequence

from everyagent.agents.adapter import Draft
from everyagent.agents.amp.wire import AmpBlock
from everyagent.agents.mcp_names import server_and_tool
from everyagent.model.events import ItemCompleted
from everyagent.model.items import Item, ItemRole
from everyagent.model.parts import ContentPart, ReasoningPart, TextPart, ToolCallPart

SPOKEN = frozenset({"text", "thinking", "redacted_thinking"})


def parts(blocks: Sequence[AmpBlock]) -> list[ContentPart]:
    """Text and reasoning parts. Redacted reasoning is a part without text."""
    return [part for block in blocks if (part := _part(block))]


def _part(block: AmpBlock) -> ContentPart | None:
    match block.type:
        case "text" if block.text:
            return TextPart(text=block.text)
        case "thinking" if block.thinking:
            return ReasoningPart(text=block.thinking, visibility="public")
        case "redacted_thinking":
            return ReasoningPart(text="", visibility="private")
        case _:
            return None


def message(key: str, role: ItemRole, content: list[ContentPart], subagent: str | None) -> Item:
    """Amp's messages have no native ids."""
    return Item(
        item_id=key,
        native_item_id=None,
        parent_id=None,
        kind="message",
        role=role,
        status="completed",
        content=content,
        subagent=subagent,
    )


def call(key: str, block: AmpBlock, parent: str | None, subagent: str | None) -> Item:
    server, tool = server_and_tool(block.name)
    part = ToolCallPart(name=tool, arguments=bytes(block.input).decode(), call_id=block.id, mcp_server=server)
    return Item(
        item_id=key,
        native_item_id=block.id,
        parent_id=parent,
        kind="tool_call",
        role="assistant",
        status="completed",
        content=[part],
        subagent=subagent,
        name=tool,
    )


def whole(item: Item) -> tuple[Draft]:
    """Drafts for an item: each of Amp's arrives complete, so that the session adds its start."""
    return (ItemCompleted(item=item),)
