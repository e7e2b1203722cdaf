"""Tool calls and results of OpenCode's tool parts. Pure; used by `calls.py`."""

from pathlib import PurePath

import msgspec
from msgspec import Struct

from everyagent.agents import items
from everyagent.agents.opencode.decode import patches
from everyagent.agents.opencode.protocol.wire import Attached, OpencodePart
from everyagent.model.items import Item
from everyagent.model.parts import ContentPart, FileRefPart, ImagePart, ToolCallPart, ToolResultPart

#: OpenCode's tool for a call of an unknown tool, or with arguments that it cannot read.
INVALID = "invalid"
_RETURNED = frozenset({"completed", "error"})
_STOPPED = "The command was stopped before it ended."
#: Characters at the end of the known output that are searched for in an update.
_SEAM = 256


class CallInput(Struct, frozen=True):
    """Arguments of some tools."""

    file: str = msgspec.field(default="", name="filePath")
    content: str = ""
    tool: str = ""


class ToolFileChange(Struct, frozen=True):
    """One of several files that a call has changed."""

    path: str = msgspec.field(name="filePath")
    patch: str = ""
    type: str = ""


class CalledTool(Struct, frozen=True):
    """A tool by its own name, and the MCP server it is of."""

    name: str
    server: str | None


def returned(part: OpencodePart) -> bool:
    return part.state.status in _RETURNED


def result_key(key: str) -> str:
    return f"{key} result"


def named(tool: str, servers: dict[str, str]) -> CalledTool:
    """`servers` are the session's MCP servers: the beginning of their tools' names -> their own name."""
    for prefix, server in servers.items():
        if tool.startswith(prefix):
            return CalledTool(tool.removeprefix(prefix), server)
    return CalledTool(tool, None)


def call(part: OpencodePart, tool: CalledTool, parent: str, subagent: str | None, *, complete: bool) -> Item:
    arguments = bytes(part.state.input).decode() if complete else ""
    written = ToolCallPart(name=tool.name, arguments=arguments, call_id=part.call or part.id, mcp_server=tool.server)
    status = "completed" if complete else "in_progress"
    return msgspec.structs.replace(
        items.call(part.id, written, native=part.id, subagent=subagent, status=status), parent_id=parent
    )


def begun(part: OpencodePart, tool: CalledTool, parent: str, subagent: str | None) -> Item:
    """The result as it starts, into which output is streamed."""
    return _item(part, tool, parent, subagent, [ToolResultPart(call_id=part.call or part.id, output="")])


def result(part: OpencodePart, tool: CalledTool, parent: str, subagent: str | None) -> Item:
    """The result of a part that has returned."""
    state = part.state
    exit_code = _exit_code(part)
    error = _error(part, exit_code)
    time = state.time
    written = ToolResultPart(
        call_id=part.call or part.id,
        output=state.error if state.status == "error" else state.output,
        is_error=error is not None,
        exit_code=exit_code,
        duration_ms=int(time.end - time.start) if time and time.end is not None else None,
    )
    attached = [_attached(file, _input(part).file) for file in state.attachments]
    return _item(part, tool, parent, subagent, [written, *_files(part), *attached], error)


def _item(
    part: OpencodePart,
    tool: CalledTool,
    parent: str,
    subagent: str | None,
    content: list[ContentPart],
    error: str | None = None,
) -> Item:
    item = items.result(
        result_key(part.id),
        tool.name,
        content,
        native=part.id,
        subagent=subagent,
        status="failed" if error else "completed",
        error=error,
    )
    return msgspec.structs.replace(item, parent_id=parent)


def growth(before: str, output: str) -> str:
    """The new text of an output that each update repeats; of a long one OpenCode repeats only the end."""
    if output.startswith(before):
        return output[len(before) :]
    seam = before[-_SEAM:]
    at = output.rfind(seam)
    return output[at + len(seam) :] if at >= 0 else output


def streamed(part: OpencodePart) -> str:
    output = part.state.metadata.get("output")
    return output if isinstance(output, str) else ""


def touches(part: OpencodePart, directory: str, file: str) -> bool:
    """This call is about that file."""
    named = _input(part).file
    return bool(named) and PurePath(directory, named) == PurePath(file)


def called(part: OpencodePart) -> str:
    """The tool that the model called, even if OpenCode does not have it."""
    return (_input(part).tool or part.tool) if part.tool == INVALID else part.tool


def _exit_code(part: OpencodePart) -> int | None:
    code = part.state.metadata.get("exit")
    return code if isinstance(code, int) else None


def _error(part: OpencodePart, exit_code: int | None) -> str | None:
    state = part.state
    if state.status == "error":
        return state.error or "It failed."
    if part.tool == INVALID:
        return state.output
    if "exit" in state.metadata and exit_code is None:
        return _STOPPED
    return f"It ended with exit code {exit_code}." if exit_code else None


def _files(part: OpencodePart) -> list[FileRefPart]:
    """The files that the call changed or read."""
    metadata = part.state.metadata
    if part.state.status != "completed":
        return []
    if "files" in metadata:
        changes = _changes(metadata["files"])
        return [patches.edited(change.path, change.patch, new=change.type == "add") for change in changes]
    diff = metadata.get("diff")
    if isinstance(diff, str):
        return [patches.edited(_input(part).file, diff)]
    path = metadata.get("filepath")
    if part.tool == "write" and isinstance(path, str):
        return [patches.written(path, _input(part).content, new=metadata.get("exists") is False)]
    if part.tool == "read" and (read := _input(part).file) and not part.state.attachments:
        return [FileRefPart(path=read, action="read")]
    return []


def _changes(files: object) -> list[ToolFileChange]:
    try:
        return msgspec.convert(files, list[ToolFileChange])
    except msgspec.ValidationError:
        return []


def _attached(file: Attached, read: str) -> ContentPart:
    """Native URLs are data URLs as a rule, and have no name; `read` is the file that the call was about."""
    head, _, data = file.url.partition(";base64,")
    if file.mime.startswith("image/"):
        inline = head.startswith("data:")
        return ImagePart(path=file.filename or read or "image", mime=file.mime, data=data if inline else None)
    return FileRefPart(path=file.filename or read or "attachment", action="read")


def _input(part: OpencodePart) -> CallInput:
    try:
        return msgspec.json.decode(part.state.input, type=CallInput)
    except msgspec.MsgspecError:
        return CallInput()
