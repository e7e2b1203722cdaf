"""Decodes tool results into items. Pure; used by `messages.py`."""

import re

import msgspec
from msgspec import Raw, Struct

from everyagent.agents import diffs
from everyagent.agents.claude import patches
from everyagent.agents.claude.wire import ClaudeBlock, PathInput, Spent, Structured
from everyagent.agents.mcp_names import server_and_tool
from everyagent.model.items import Item
from everyagent.model.parts import ContentPart, FileRefPart, ImagePart, JsonPart, ToolResultPart

_blocks = msgspec.json.Decoder(ClaudeBlock)
_lists = msgspec.json.Decoder(list[Raw])
_structured = msgspec.json.Decoder(Structured)
_spent = msgspec.json.Decoder(Spent)
_path_inputs = msgspec.json.Decoder(PathInput)
_EXIT_CODE = re.compile(r"Exit code (\d+)\b")
_EDITS = frozenset({"Edit", "MultiEdit", "NotebookEdit"})
_FILES = _EDITS | {"Read", "Write"}


class ClaudeCall(Struct, frozen=True):
    """A call without a result so far. `name` is the agent's own name of the tool, `message` the key of its message."""

    name: str
    message: str | None
    path: str | None = None


def called(block: ClaudeBlock, message: str) -> ClaudeCall:
    paths = _paths(block.input) if block.name in _FILES else None
    return ClaudeCall(block.name, message, paths and (paths.file_path or paths.notebook_path))


def _paths(input: Raw) -> PathInput | None:
    try:
        return _path_inputs.decode(input)
    except msgspec.ValidationError:
        return None


class _Output(Struct, frozen=True):
    text: str
    images: list[ImagePart]


def result(key: str, block: ClaudeBlock, structured: Raw, call: ClaudeCall, *, subagent: str | None) -> Item:
    """`key` is the call's; `structured` is the tool's own result object, whose shape depends on the tool."""
    output = _output(block)
    failed = bool(block.is_error)
    known = _known(structured) if call.name == "Bash" or call.name in _FILES else None
    part = ToolResultPart(
        call_id=block.tool_use_id,
        output=output.text,
        is_error=failed,
        exit_code=_exit_code(output.text, failed, known) if call.name == "Bash" else None,
        duration_ms=_duration(structured),
        stderr=(known.stderr or None) if known and call.name == "Bash" else None,
    )
    return Item(
        item_id=f"{key} result",
        native_item_id=block.tool_use_id,
        parent_id=call.message,
        kind="tool_result",
        role="tool",
        status="failed" if failed else "completed",
        content=[part, *_details(call, structured, known, output)],
        subagent=subagent,
        name=server_and_tool(call.name)[1],
        error=output.text if failed else None,
    )


def _details(call: ClaudeCall, structured: Raw, known: Structured | None, output: _Output) -> list[ContentPart]:
    """Parts other than the text: files and their diffs, images, structured fields."""
    if known is not None and call.name in _FILES:
        return [*_file(call, known), *_at(call.path, output.images)]
    if call.name == "Bash" or not bytes(structured).startswith(b"{"):
        return [*output.images]
    return [*output.images, JsonPart(json=msgspec.json.decode(structured))]


def _file(call: ClaudeCall, known: Structured) -> list[ContentPart]:
    path = known.filePath or call.path
    if not path:
        return []
    if call.name == "Read":
        return [FileRefPart(path=path, action="read")]
    diff = None
    if known.structuredPatch:
        diff = patches.edited(path, known.structuredPatch)
    elif known.originalFile is None and isinstance(known.content, str):
        diff = diffs.created(path, known.content)
    return [FileRefPart(path=path, action="patch" if call.name in _EDITS else "write", diff=diff)]


def _at(path: str | None, images: list[ImagePart]) -> list[ImagePart]:
    """Images that were read from a file, with its path."""
    return [msgspec.structs.replace(image, path=path) for image in images] if path else images


def _output(block: ClaudeBlock) -> _Output:
    body = bytes(block.content)
    if body == b"null":
        return _Output("", [])
    if not body.startswith(b"["):
        content = msgspec.json.decode(body)
        return _Output(content if isinstance(content, str) else body.decode(), [])
    texts: list[str] = []
    images: list[ImagePart] = []
    for raw in _lists.decode(body):
        each = _blocks.decode(raw)
        if each.type == "text":
            texts.append(each.text)
        elif each.type == "image" and each.source:
            images.append(
                ImagePart(path=each.source.url or "image", mime=each.source.media_type, data=each.source.data)
            )
        else:
            texts.append(bytes(raw).decode())
    return _Output("\n".join(texts), images)


def _known(structured: Raw) -> Structured | None:
    """None if the tool failed, or its result has an unknown shape."""
    try:
        return _structured.decode(structured)
    except msgspec.ValidationError:
        return None


def _exit_code(output: str, failed: bool, known: Structured | None) -> int | None:
    if failed:
        found = _EXIT_CODE.match(output)
        return int(found[1]) if found else None
    ended = known is not None and not known.interrupted and not known.backgroundTaskId
    return 0 if ended else None


def _duration(structured: Raw) -> int | None:
    try:
        spent = _spent.decode(structured)
    except msgspec.ValidationError:
        return None
    millis = spent.totalDurationMs if spent.totalDurationMs is not None else spent.durationMs
    return None if millis is None else round(millis)
