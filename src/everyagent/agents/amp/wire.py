"""Amp's native messages, as they come from it: one JSON object a line, named by `type`. Decode only."""

from msgspec import Raw, Struct

_NOTHING = Raw(b"{}")


class Head(Struct, frozen=True):
    type: str = ""
    subtype: str = ""


class Init(Struct, frozen=True):
    """Comes once a process, with the first turn. `session_id` is the thread."""

    session_id: str


class Block(Struct, frozen=True):
    """Of a message's content. A tool's result is text, and that is often JSON."""

    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Raw = _NOTHING
    tool_use_id: str = ""
    content: str = ""
    is_error: bool = False


class Usage(Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class Message(Struct, frozen=True):
    """`stop_reason` is None for a message that was cut short."""

    content: list[Block] = []
    stop_reason: str | None = None
    usage: Usage | None = None


class Said(Struct, frozen=True):
    """`assistant` and `user` lines; results of tools and echoes of prompts are the user's."""

    message: Message
    parent_tool_use_id: str | None = None


class Result(Struct, frozen=True):
    """The last word of a process: it ends after it."""

    is_error: bool = False
    error: str = ""


# -- what tools return, inside of `content` ---------------------------------------------------------------------------


class CommandResult(Struct, frozen=True):
    output: str
    exitCode: int | None = None


class EditResult(Struct, frozen=True):
    """`diff` is fenced like a code block."""

    diff: str


class PatchedFile(Struct, frozen=True):
    uri: str
    type: str = ""
    diff: str | None = None


class PatchResult(Struct, frozen=True):
    files: list[PatchedFile]
    summary: str = ""


class ImageInfo(Struct, frozen=True):
    mimeType: str | None = None


class ReadResult(Struct, frozen=True):
    """`content` is base64 for an image."""

    absolutePath: str
    content: str = ""
    isImage: bool = False
    isDirectory: bool = False
    imageInfo: ImageInfo | None = None


class McpPart(Struct, frozen=True):
    type: str = ""
    text: str = ""
    data: str = ""
    mimeType: str | None = None


# -- what tools are called with ---------------------------------------------------------------------------------------


class ToolInput(Struct, frozen=True):
    """As far as we look into it."""

    path: str = ""
    content: str = ""
    command: str = ""
    workdir: str = ""
    patchText: str = ""
