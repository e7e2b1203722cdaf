"""Tool calls and results of Codex's items: commands, patches, MCP, searches, images. Pure."""

import msgspec

from everyagent.agents import items
from everyagent.agents.codex.decode import patches
from everyagent.agents.codex.protocol.wire_items import CodexItem, ErrorMessage, McpResult, ModelItem
from everyagent.model.items import Item
from everyagent.model.parts import ContentPart, FileRefPart, ImagePart, JsonPart, ToolCallPart, ToolResultPart
from everyagent.model.tools import TOOLS_SERVER

SHELL = "shell"
PATCH = "apply_patch"
SPAWN = "spawn_agent"
#: Native item types that are a tool call and its result in one; True: the call is complete when it starts.
TYPES: dict[str, bool] = {
    "commandExecution": True,
    "fileChange": True,
    "mcpToolCall": True,
    "dynamicToolCall": True,
    "imageView": True,
    "collabAgentToolCall": False,
    "webSearch": False,
    "imageGeneration": False,
}
_NAMES = {
    "commandExecution": SHELL,
    "fileChange": PATCH,
    "imageView": "view_image",
    "webSearch": "web_search",
    "imageGeneration": "image_generation",
}
_FAILED = {"declined": "It was declined.", "interrupted": "It was interrupted."}
_DIED = frozenset({"failed", "declined", "interrupted"})


class ExecCommand(msgspec.Struct, frozen=True):
    """The model's input of a command."""

    cmd: str


_commands = msgspec.json.Decoder(ExecCommand)


class CodexCall(msgspec.Struct, frozen=True):
    """A call that has no result yet."""

    key: str
    item: CodexItem
    thread: str
    subagent: str | None


def result_key(key: str) -> str:
    return f"{key} result"


def name_of(item: CodexItem) -> str:
    return _NAMES.get(item.type) or item.tool or item.type


def call(call: CodexCall, *, complete: bool) -> Item:
    item = call.item
    part = ToolCallPart(
        name=name_of(item),
        arguments=_arguments(item),
        call_id=call.key,
        mcp_server=item.server or None,
    )
    status = "completed" if complete else "in_progress"
    return items.call(call.key, part, native=item.id, subagent=call.subagent, status=status)


def begun(call: CodexCall) -> Item:
    """The result as it starts, into which output is streamed."""
    part = ToolResultPart(call_id=call.key, output="")
    return items.result(
        result_key(call.key),
        name_of(call.item),
        [part],
        native=call.item.id,
        subagent=call.subagent,
        status="in_progress",
    )


def result(call: CodexCall) -> Item:
    """The result of a completed item."""
    item = call.item
    output, parts = _output(item)
    failed = item.status in _DIED or item.success is False or item.error is not None
    error = (item.error.message if item.error else None) or _FAILED.get(item.status or "") or output or "It failed."
    part = ToolResultPart(
        call_id=call.key,
        output=output or (error if failed else ""),
        is_error=failed,
        exit_code=item.exit_code,
        duration_ms=item.duration_ms,
    )
    return items.result(
        result_key(call.key),
        name_of(item),
        [part, *parts, *([] if failed else _read(item))],
        native=item.id,
        subagent=call.subagent,
        status="failed" if failed else "completed",
        error=error if failed else None,
    )


def _read(item: CodexItem) -> list[FileRefPart]:
    """The files that a command reads, as far as Codex recognises them."""
    paths = (action.path for action in item.command_actions if action.type == "read")
    return [FileRefPart(path=path, action="read") for path in paths if path]


def cut(call: CodexCall, why: str) -> Item:
    """The result of a call that Codex left without one."""
    part = ToolResultPart(call_id=call.key, output="", is_error=True)
    return items.result(
        result_key(call.key),
        name_of(call.item),
        [part],
        native=call.item.id,
        subagent=call.subagent,
        status="failed",
        error=why,
    )


#: Tools of the model whose calls have items, except those that Codex refuses at once.
_ITEMIZED = {"exec_command": SHELL, "apply_patch": PATCH, "view_image": "view_image"}


def called_by_model(item: ModelItem) -> CodexItem | None:
    """The item of a call of the model, drafted if Codex sends none."""
    tool = _ITEMIZED.get(item.name)
    if not tool or item.type not in ("function_call", "custom_tool_call"):
        return None
    arguments = item.arguments or _json({"input": item.input})
    return CodexItem(type="dynamicToolCall", id=item.call_id, tool=tool, arguments=msgspec.Raw(arguments.encode()))


def announced_by_model(item: ModelItem, *, commands: bool) -> CodexItem | None:
    """The item of a call of a custom tool, or of a command, which Codex sends only when it makes the call."""
    if item.type != "function_call":
        return None
    if item.namespace == f"mcp__{TOOLS_SERVER}":
        arguments = msgspec.Raw((item.arguments or "{}").encode())
        return CodexItem(type="mcpToolCall", id=item.call_id, server=TOOLS_SERVER, tool=item.name, arguments=arguments)
    if commands and item.name == "exec_command":
        try:
            command = _commands.decode(item.arguments)
        except msgspec.DecodeError:
            return None
        arguments = msgspec.Raw(msgspec.json.encode({"command": command.cmd}))
        return CodexItem(type="dynamicToolCall", id=item.call_id, tool=SHELL, arguments=arguments)
    return None


def refused(item: CodexItem, returned: ModelItem) -> CodexItem:
    """The item of a refused call: the output that the model was given is the reason."""
    words = returned.output if isinstance(returned.output, str) else _json(returned.output)
    return msgspec.structs.replace(item, status="failed", error=ErrorMessage(message=words))


def changes(item: CodexItem) -> list[object]:
    """The changes of a patch, for the permission request."""
    refs = [patches.file_ref(change) for change in item.changes]
    kinds = [change.kind.type for change in item.changes]
    return [{"path": ref.path, "kind": kind, "diff": ref.diff} for ref, kind in zip(refs, kinds, strict=True)]


def _arguments(item: CodexItem) -> str:
    match item.type:
        case "commandExecution":
            return _json({"command": item.command, "cwd": item.cwd})
        case "fileChange":
            return _json({"changes": [{"path": change.path, "kind": change.kind.type} for change in item.changes]})
        case "collabAgentToolCall":
            facts = {"prompt": item.prompt, "model": item.model, "agents": item.receiver_thread_ids or None}
            return _json({name: value for name, value in facts.items() if value is not None})
        case "webSearch":
            return _json({"query": item.query, "action": item.action})
        case "imageView":
            return _json({"path": item.path})
        case "imageGeneration":
            return _json({"prompt": item.revised_prompt})
        case _:
            return bytes(item.arguments).decode()


def _output(item: CodexItem) -> tuple[str, list[ContentPart]]:
    """The text of an item's output, and the parts that are not text."""
    match item.type:
        case "commandExecution":
            return item.aggregated_output or "", []
        case "fileChange":
            if item.status != "completed":
                return "", []
            return (
                "\n".join(f"{change.kind.type} {change.path}" for change in item.changes),
                [patches.file_ref(change) for change in item.changes],
            )
        case "mcpToolCall":
            return _mcp(item)
        case "dynamicToolCall":
            return _blocks(item.content_items or [])
        case "collabAgentToolCall":
            return (_json(item.agents_states), []) if item.agents_states else ("", [])
        case "webSearch":
            return (_json(item.results), []) if item.results else ("", [])
        case "imageView":
            return "", [ImagePart(path=item.path)]
        case "imageGeneration":
            data = item.result if isinstance(item.result, str) else None
            return "", [ImagePart(path=item.saved_path or "image", mime="image/png", data=data)]
        case _:
            return "", []


def _mcp(item: CodexItem) -> tuple[str, list[ContentPart]]:
    if item.result is None:
        return "", []
    result = msgspec.convert(item.result, McpResult)
    text, parts = _blocks(result.content)
    if result.structured_content is not None:
        parts.append(JsonPart(json=result.structured_content))
    return text, parts


def _blocks(blocks: list[dict[str, object]]) -> tuple[str, list[ContentPart]]:
    texts: list[str] = []
    parts: list[ContentPart] = []
    for block in blocks:
        match block:
            case {"type": "text" | "inputText", "text": str() as text}:
                texts.append(text)
            case {"type": "image", "data": str() as data}:
                parts.append(ImagePart(path="image", mime=str(block.get("mimeType") or "image/png"), data=data))
            case {"type": "inputImage", "imageUrl": str() as url}:
                parts.append(ImagePart(path=url))
            case _:
                texts.append(_json(block))
    return "\n".join(texts), parts


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
