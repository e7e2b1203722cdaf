"""The mock program's native messages, as they come from it: one JSON object a line, named by its `type`."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from everyagent.model.asks import PermissionReply


class Frame(Struct, frozen=True, gc=False):
    """Where a sub-agent can speak, `subagent` is the id of the call that started it."""


class Head(Frame, frozen=True):
    type: str


class Ready(Frame, frozen=True):
    session: str
    resumed: bool
    turn: int


class MessageStart(Frame, frozen=True):
    id: str
    subagent: str | None = None


class Piece(Frame, frozen=True, gc=False):
    """More of what `id` names: a message's text or reasoning, a call's input, a result's output."""

    id: str
    text: str
    index: int = 0


class TextContent(Struct, frozen=True, tag="text"):
    text: str


class ReasoningContent(Struct, frozen=True, tag="reasoning"):
    text: str


class ImageContent(Struct, frozen=True, tag="image"):
    path: str
    mime: str


Content: TypeAlias = TextContent | ReasoningContent | ImageContent


class MessageEnd(Frame, frozen=True):
    id: str
    content: list[Content]
    subagent: str | None = None


class CallStart(Frame, frozen=True):
    id: str
    message: str
    name: str
    mcp_server: str | None = None
    subagent: str | None = None


class CallEnd(Frame, frozen=True, kw_only=True):
    id: str
    message: str
    name: str
    input: str
    mcp_server: str | None = None
    subagent: str | None = None


class ResultStart(Frame, frozen=True):
    id: str
    call: str
    message: str
    name: str
    subagent: str | None = None


class File(Struct, frozen=True):
    path: str
    action: Literal["read", "write", "patch"]
    diff: str | None = None


class ResultEnd(Frame, frozen=True, kw_only=True):
    id: str
    call: str
    message: str
    name: str
    output: str
    is_error: bool
    exit_code: int | None = None
    duration_ms: int | None = None
    files: list[File] = []
    subagent: str | None = None


class Todo(Struct, frozen=True):
    label: str
    detail: str


class Plan(Frame, frozen=True):
    id: str
    todos: list[Todo]


class Permission(Frame, frozen=True):
    id: str
    call: str
    tool: str
    action: str
    input: dict[str, Any]
    suggestions: list[Any] = []
    options: tuple[PermissionReply, ...] = ("once", "always", "reject")


class Withdrawn(Frame, frozen=True):
    """A permission that is no longer asked for."""

    id: str


class Option(Struct, frozen=True):
    label: str
    description: str | None = None


class Question(Struct, frozen=True):
    header: str
    prompt: str
    options: list[Option]
    multi_select: bool


class Questions(Frame, frozen=True):
    id: str
    questions: Annotated[list[Question], Meta(min_length=1)]


class Retry(Struct, frozen=True):
    attempt: int
    max: int
    delay_ms: int


class Error(Frame, frozen=True):
    code: str
    message: str
    retry: Retry | None = None
    subagent: str | None = None


class Compacted(Frame, frozen=True):
    id: str


class Usage(Struct, frozen=True):
    input: int
    output: int


class Responded(Frame, frozen=True):
    usage: Usage
    cost: float
    model: str
    subagent: str | None = None


class TurnEnd(Frame, frozen=True):
    stop: Literal["end_turn", "interrupted", "error"]
    usage: Usage
    cost: float
    error: str | None = None
