"""Amp's messages and calls as universal items. Pure; used by `decode.py`."""

from collections.abc import Sequence

from everyagent.agents.adapter import Draft
from everyagent.agents.amp.wire import Block
from everyagent.agents.mcp_names import server_and_tool
from everyagent.model.events import ItemCompleted, ItemStarted
from everyagent.model.items import Item, ItemRole
from everyagent.model.parts import ContentPart, ReasoningPart, TextPart, ToolCallPart

SPOKEN = frozenset({"text", "thinking", "redacted_thinking"})


def parts(blocks: Sequence[Block]) -> list[ContentPart]:
    """What was said and thought. Of a redacted thought is known only that there was one."""
    return [part for block in blocks if (part := _part(block))]


def _part(block: Block) -> ContentPart | None:
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
    """Amp tells no ids of messages."""
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


def call(key: str, block: Block, parent: str | None, subagent: str | None) -> Item:
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


def whole(item: Item) -> tuple[Draft, Draft]:
    """Every item of Amp's comes in one piece."""
    return (ItemStarted(item=item), ItemCompleted(item=item))
