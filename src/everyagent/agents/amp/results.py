"""Decodes tool results into items. Pure; used by `decode.py`."""

from typing import TypeVar
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Raw, Struct

from everyagent.agents.amp import wire
from everyagent.agents.mcp_names import server_and_tool
from everyagent.model.items import Item
from everyagent.model.parts import ContentPart, FileRefPart, ImagePart, JsonPart, ToolResultPart

R = TypeVar("R", bound=Struct)

#: How Amp's text begins in place of a result if a tool was not allowed to run.
REJECTED = ("Tool rejected by plugin:", "Plugin error:", "Tool execution rejected by user:")
SHELLS = frozenset({"Bash", "shell_command", "async_shell_command"})

_commands = msgspec.json.Decoder(wire.CommandResult)
_edits = msgspec.json.Decoder(wire.EditResult)
_patches = msgspec.json.Decoder(wire.PatchResult)
_reads = msgspec.json.Decoder(wire.ReadResult)
_mcp = msgspec.json.Decoder(list[wire.AmpMcpPart])
_inputs = msgspec.json.Decoder(wire.AmpToolInput)


class AmpCall(Struct):
    """A call that has no result yet. `message` is the item that contains it; `asked`: its permission was asked for.

    `diff` is the change to the file that it writes, where Amp does not report one.
    """

    key: str
    name: str
    input: Raw
    message: str | None
    subagent: str | None
    asked: bool = False
    diff: str | None = None


class _Returned(Struct, frozen=True):
    text: str
    exit_code: int | None = None
    parts: list[ContentPart] = []


def result(key: str, block: wire.AmpBlock, call: AmpCall | None) -> Item:
    """`key` is the call's. A call that was rejected has failed, though Amp does not always mark it as an error."""
    failed = block.is_error or block.content.startswith(REJECTED)
    name = call.name if call else ""
    returned = _Returned(block.content) if failed or not call else _returned(block.content, call)
    failed = failed or bool(returned.exit_code)
    part = ToolResultPart(
        call_id=block.tool_use_id, output=returned.text, is_error=failed, exit_code=returned.exit_code
    )
    return Item(
        item_id=f"{key} result",
        native_item_id=block.tool_use_id,
        parent_id=call.message if call else None,
        kind="tool_result",
        role="tool",
        status="failed" if failed else "completed",
        content=[part, *returned.parts],
        subagent=call.subagent if call else None,
        name=server_and_tool(name)[1] if name else None,
        error=(returned.text or f"exit code {returned.exit_code}") if failed else None,
    )


def input_of(input: Raw) -> wire.AmpToolInput:
    """The fields of a tool's input that are used; defaults if it has another shape."""
    try:
        return _inputs.decode(input)
    except msgspec.MsgspecError:
        return wire.AmpToolInput()


def _returned(content: str, call: AmpCall) -> _Returned:
    match call.name:
        case name if name in SHELLS:
            parsed = _decoded(_commands, content)
            return _Returned(parsed.output, parsed.exitCode) if parsed else _Returned(content)
        case "create_file":
            return _Returned(content, parts=_written(call))
        case "edit_file":
            return _edited(content, input_of(call.input).path)
        case "apply_patch":
            return _patched(content)
        case "Read":
            return _read(content)
        case _:
            return _other(content)


def _written(call: AmpCall) -> list[ContentPart]:
    input = input_of(call.input)
    return [FileRefPart(path=input.path, action="write", diff=call.diff)] if input.path else []


def _edited(content: str, path: str) -> _Returned:
    parsed = _decoded(_edits, content)
    if not parsed or not path:
        return _Returned(content)
    fenced = parsed.diff.removeprefix("```diff\n").removesuffix("```")
    return _Returned(fenced, parts=[FileRefPart(path=path, action="patch", diff=_headed(path, path, fenced))])


def _patched(content: str) -> _Returned:
    parsed = _decoded(_patches, content)
    if not parsed:
        return _Returned(content)
    return _Returned(parsed.summary or content, parts=[_file(file) for file in parsed.files])


def _file(file: wire.PatchedFile) -> FileRefPart:
    path = unquote(urlsplit(file.uri).path) or file.uri
    match file.type:
        case "add":
            return FileRefPart(path=path, action="write", diff=_headed(None, path, file.diff))
        case "delete":
            return FileRefPart(path=path, action="write", diff=_headed(path, None, file.diff))
        case "move":
            return FileRefPart(path=path, action="patch", diff=_headed(_source(file.diff) or path, path, file.diff))
        case _:
            return FileRefPart(path=path, action="patch", diff=_headed(path, path, file.diff))


def _headed(old: str | None, new: str | None, diff: str | None) -> str | None:
    """The hunks under the usual two header lines instead of Amp's."""
    if diff is None or (start := diff.find("@@ -")) < 0:
        return None
    hunks = diff[start:]
    ended = hunks if hunks.endswith("\n") else f"{hunks}\n"
    return f"--- {_name('a', old)}\n+++ {_name('b', new)}\n{ended}"


def _name(side: str, path: str | None) -> str:
    return f"{side}/{path.lstrip('/')}" if path else "/dev/null"


def _source(diff: str | None) -> str | None:
    lines = (diff or "").splitlines()
    return next((line[4:].partition("\t")[0] for line in lines if line.startswith("--- ")), None)


def _read(content: str) -> _Returned:
    parsed = _decoded(_reads, content)
    if not parsed:
        return _Returned(content)
    if parsed.isImage:
        mime = parsed.imageInfo.mimeType if parsed.imageInfo else None
        return _Returned("", parts=[ImagePart(path=parsed.absolutePath, mime=mime, data=parsed.content)])
    file = [] if parsed.isDirectory else [FileRefPart(path=parsed.absolutePath, action="read")]
    return _Returned(parsed.content, parts=[*file])


def _other(content: str) -> _Returned:
    """MCP tools return a list of parts; other tools an object or plain text."""
    if content.startswith("[{"):
        try:
            parsed = _mcp.decode(content)
        except msgspec.MsgspecError:
            return _Returned(content)
        images: list[ContentPart] = [
            ImagePart(path="image", mime=part.mimeType, data=part.data) for part in parsed if part.type == "image"
        ]
        return _Returned("\n".join(part.text for part in parsed if part.type == "text"), parts=images)
    if content.startswith("{"):
        try:
            return _Returned(content, parts=[JsonPart(json=msgspec.json.decode(content))])
        except (msgspec.MsgspecError, RecursionError):
            return _Returned(content)
    return _Returned(content)


def _decoded(decoder: msgspec.json.Decoder[R], content: str) -> R | None:
    """None if it has an unknown shape."""
    try:
        return decoder.decode(content)
    except (msgspec.MsgspecError, RecursionError):
        return None
