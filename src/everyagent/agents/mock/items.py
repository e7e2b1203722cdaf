"""Makes items of the mock's messages, calls and results. Pure; used by `decode.py`."""

from collections.abc import Sequence

from everyagent.agents.mock import wire
from everyagent.model.items import Item, ItemStatus
from everyagent.model.parts import (
    ContentPart,
    FileRefPart,
    ImagePart,
    ReasoningPart,
    StatusPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)


def message(id: str, subagent: str | None, content: Sequence[wire.MockContent] = (), *, status: ItemStatus) -> Item:
    return Item(
        item_id=id,
        native_item_id=id,
        parent_id=None,
        kind="message",
        role="assistant",
        status=status,
        content=[_part(part) for part in content],
        subagent=subagent,
    )


def call(frame: wire.CallStart | wire.CallEnd) -> Item:
    arguments = frame.input if isinstance(frame, wire.CallEnd) else ""
    part = ToolCallPart(name=frame.name, arguments=arguments, call_id=frame.id, mcp_server=frame.mcp_server)
    return Item(
        item_id=frame.id,
        native_item_id=frame.id,
        parent_id=frame.message,
        kind="tool_call",
        role="assistant",
        status="completed" if isinstance(frame, wire.CallEnd) else "in_progress",
        content=[part],
        subagent=frame.subagent,
        name=frame.name,
    )


def result(frame: wire.ResultStart | wire.ResultEnd) -> Item:
    return Item(
        item_id=frame.id,
        native_item_id=frame.id,
        parent_id=frame.message,
        kind="tool_result",
        role="tool",
        status=_result_status(frame),
        content=_result_parts(frame),
        subagent=frame.subagent,
        name=frame.name,
        error=frame.output if isinstance(frame, wire.ResultEnd) and frame.is_error else None,
    )


def plan(frame: wire.MockPlan, status: ItemStatus) -> Item:
    return Item(
        item_id=frame.id,
        native_item_id=frame.id,
        parent_id=None,
        kind="status",
        role="assistant",
        status=status,
        content=[StatusPart(label=todo.label, detail=todo.detail) for todo in frame.todos],
        name="plan",
    )


def compaction(frame: wire.MockCompacted, status: ItemStatus) -> Item:
    return Item(
        item_id=frame.id,
        native_item_id=frame.id,
        parent_id=None,
        kind="status",
        role=None,
        status=status,
        content=[StatusPart(label="Conversation compacted")],
        name="compaction",
    )


def _result_status(frame: wire.ResultStart | wire.ResultEnd) -> ItemStatus:
    if isinstance(frame, wire.ResultStart):
        return "in_progress"
    return "failed" if frame.is_error else "completed"


def _result_parts(frame: wire.ResultStart | wire.ResultEnd) -> list[ContentPart]:
    if isinstance(frame, wire.ResultStart):
        return [ToolResultPart(call_id=frame.call, output="")]
    part = ToolResultPart(
        call_id=frame.call,
        output=frame.output,
        is_error=frame.is_error,
        exit_code=frame.exit_code,
        duration_ms=frame.duration_ms,
    )
    return [part, *(FileRefPart(path=file.path, action=file.action, diff=file.diff) for file in frame.files)]


def _part(part: wire.MockContent) -> ContentPart:
    match part:
        case wire.TextContent():
            return TextPart(text=part.text)
        case wire.ReasoningContent():
            return ReasoningPart(text=part.text, visibility="public")
        case wire.ImageContent():
            return ImagePart(path=part.path, mime=part.mime)
