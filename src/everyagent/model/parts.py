"""Content parts of an item: text, tool calls and results, files, images, reasoning."""

from typing import Literal, TypeAlias

from msgspec import Struct

Object: TypeAlias = dict[str, object]
Json: TypeAlias = Object | list[object] | str | int | float | bool | None


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """The base of all parts; the tag is the `type` in JSON."""


class TextPart(Part, frozen=True, kw_only=True, tag="text"):
    text: str


class JsonPart(Part, frozen=True, kw_only=True, tag="json"):
    json: Json


class ToolCallPart(Part, frozen=True, kw_only=True, tag="tool_call"):
    """`arguments` is JSON text, unchanged if the agent sent text."""

    name: str
    arguments: str
    call_id: str
    mcp_server: str | None = None


class ToolResultPart(Part, frozen=True, kw_only=True, tag="tool_result"):
    """`stderr` is the part of `output` that the agent reports as such. Agents join the streams of most commands."""

    call_id: str
    output: str
    is_error: bool | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    stderr: str | None = None


class FileRefPart(Part, frozen=True, kw_only=True, tag="file_ref"):
    """`diff` is a unified diff."""

    path: str
    action: Literal["read", "write", "patch"]
    diff: str | None = None


class ImagePart(Part, frozen=True, kw_only=True, tag="image"):
    """`data` is base64, for an image that is not in a file."""

    path: str
    mime: str | None = None
    data: str | None = None


class ReasoningPart(Part, frozen=True, kw_only=True, tag="reasoning"):
    text: str
    visibility: Literal["public", "private"]


class StatusPart(Part, frozen=True, kw_only=True, tag="status"):
    label: str
    detail: str | None = None


ContentPart: TypeAlias = (
    TextPart | JsonPart | ToolCallPart | ToolResultPart | FileRefPart | ImagePart | ReasoningPart | StatusPart
)
