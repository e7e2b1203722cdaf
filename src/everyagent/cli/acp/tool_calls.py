"""Describes tool calls for an editor: titles, kinds, locations, diffs. Pure; used by `updates.py` and `asks.py`."""

from collections.abc import Sequence
from typing import cast

import msgspec

from everyagent.model.parts import ContentPart, FileRefPart, ImagePart, Json, TextPart, ToolResultPart

_KINDS = {
    "execute": ("bash", "shell", "command", "exec", "terminal"),
    "edit": ("edit", "write", "patch", "create_file", "replace", "diff"),
    "read": ("read", "view", "cat"),
    "search": ("grep", "glob", "search", "find", "list", "ls"),
    "fetch": ("fetch", "web", "browse"),
    "delete": ("delete", "remove"),
    "move": ("move", "rename"),
    "think": ("think", "task", "todo", "plan"),
}
_PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path")
_SUBJECTS = ("command", "cmd", *_PATHS, "pattern", "query", "url", "description", "prompt")
_TITLE_CHARS = 200


def kind_of(tool: str) -> str:
    """The kind of a tool by the words in its name; web tools are looked at first, because some of them search."""
    name = tool.lower()
    if any(word in name for word in _KINDS["fetch"]):
        return "fetch"
    return next((kind for kind, words in _KINDS.items() if any(word in name for word in words)), "other")


def described(tool: str, input: Json) -> dict[str, object]:
    """The fields of a tool call that follow from its tool and its input."""
    fields: dict[str, object] = {"title": _title(tool, input), "kind": kind_of(tool)}
    if input is not None:
        fields["rawInput"] = input
    paths = [path for path in _values(input, _PATHS) if path.startswith("/")]
    if paths:
        fields["locations"] = [{"path": path} for path in paths]
    return fields


def input_of(arguments: str) -> Json:
    """The input of a call, also while it is incomplete."""
    if not arguments:
        return None
    try:
        return cast(Json, msgspec.json.decode(arguments))
    except (msgspec.DecodeError, RecursionError):
        return arguments


def content_of(parts: Sequence[ContentPart]) -> list[dict[str, object]]:
    """The content of a finished call: diffs first, then its output and images."""
    diffs = [diff for part in parts if isinstance(part, FileRefPart) for diff in diffs_of(part)]
    shown: list[dict[str, object]] = []
    for part in parts:
        match part:
            case ToolResultPart(output=text) | TextPart(text=text) if text:
                shown.append(text_content(text))
            case ImagePart(data=str(data), mime=mime):
                shown.append({"type": "content", "content": image_block(data, mime)})
            case _:
                pass
    return diffs + shown


def text_content(text: str) -> dict[str, object]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def image_block(data: str, mime: str | None) -> dict[str, object]:
    return {"type": "image", "data": data, "mimeType": mime or "image/png"}


def diffs_of(part: FileRefPart) -> list[dict[str, object]]:
    """One diff for each hunk: the protocol has the texts before and after, the log has a unified diff."""
    hunks: list[tuple[list[str], list[str]]] = []
    for line in (part.diff or "").splitlines():
        mark, text = line[:1], line[1:]
        if line.startswith("@@"):
            hunks.append(([], []))
        elif hunks:
            if mark in (" ", "-"):
                hunks[-1][0].append(text)
            if mark in (" ", "+"):
                hunks[-1][1].append(text)
    return [
        {"type": "diff", "path": part.path, "oldText": "\n".join(old) if old else None, "newText": "\n".join(new)}
        for old, new in hunks
    ]


def _title(tool: str, input: Json) -> str:
    subject = next(iter(_values(input, _SUBJECTS)), "")
    line = " ".join(subject.split())
    if kind_of(tool) == "execute" and line:
        return line[:_TITLE_CHARS]
    return f"{tool} {line}"[:_TITLE_CHARS].strip()


def _values(input: Json, names: Sequence[str]) -> list[str]:
    if not isinstance(input, dict):
        return []
    return [value for name in names if isinstance(value := input.get(name), str) and value]
