"""Amp's native messages: one JSON object a line, named by `type`. Decode only."""

from msgspec import Raw, Struct

_NOTHING = Raw(b"{}")


class AmpHead(Struct, frozen=True):
    type: str = ""
    subtype: str = ""


class AmpInit(Struct, frozen=True):
    """Comes once in each process, with the first turn. `session_id` is the thread."""

    session_id: str


class AmpBlock(Struct, frozen=True):
    """A content block. A tool's result is text, often JSON."""

    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Raw = _NOTHING
    tool_use_id: str = ""
    content: str = ""
    is_error: bool = False


class AmpUsage(Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class AmpMessage(Struct, frozen=True):
    """`stop_reason` is None for a message that was cut short."""

    content: list[AmpBlock] = []
    stop_reason: str | None = None
    usage: AmpUsage | None = None


class AmpMessageLine(Struct, frozen=True):
    """An `assistant` or `user` line. Results of tools and echoes of prompts are `user` lines."""

    message: AmpMessage
    parent_tool_use_id: str | None = None


class AmpResult(Struct, frozen=True):
    """The last line of a process."""

    is_error: bool = False
    error: str = ""


# -- results of tools, inside of `content` ---------------------------------------------------------------------------


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


class AmpMcpPart(Struct, frozen=True):
    type: str = ""
    text: str = ""
    data: str = ""
    mimeType: str | None = None


# -- inputs of tools ---------------------------------------------------------------------------------------


class AmpToolInput(Struct, frozen=True):
    """The fields of a tool's input that are used."""

    path: str = ""
    content: str = ""
    command: str = ""
    workdir: str = ""
    patchText: str = ""
