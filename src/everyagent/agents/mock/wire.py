"""The mock program's native messages: one JSON object a line, named by `type`. Decode only."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from everyagent.model.asks import PermissionReply


class MockFrame(Struct, frozen=True, gc=False):
    """`subagent` in subclasses is the id of the call that started the sub-agent it comes from."""


class MockHead(MockFrame, frozen=True):
    type: str


class Ready(MockFrame, frozen=True):
    session: str
    resumed: bool
    turn: int


class MessageStart(MockFrame, frozen=True):
    id: str
    subagent: str | None = None


class MockPiece(MockFrame, frozen=True, gc=False):
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


MockContent: TypeAlias = TextContent | ReasoningContent | ImageContent


class MessageEnd(MockFrame, frozen=True):
    id: str
    content: list[MockContent]
    subagent: str | None = None


class CallStart(MockFrame, frozen=True):
    id: str
    message: str
    name: str
    mcp_server: str | None = None
    subagent: str | None = None


class CallEnd(MockFrame, frozen=True, kw_only=True):
    id: str
    message: str
    name: str
    input: str
    mcp_server: str | None = None
    subagent: str | None = None


class ResultStart(MockFrame, frozen=True):
    id: str
    call: str
    message: str
    name: str
    subagent: str | None = None


class MockFile(Struct, frozen=True):
    path: str
    action: Literal["read", "write", "patch"]
    diff: str | None = None


class ResultEnd(MockFrame, frozen=True, kw_only=True):
    id: str
    call: str
    message: str
    name: str
    output: str
    is_error: bool
    exit_code: int | None = None
    duration_ms: int | None = None
    files: list[MockFile] = []
    subagent: str | None = None


class MockTodo(Struct, frozen=True):
    label: str
    detail: str


class MockPlan(MockFrame, frozen=True):
    id: str
    todos: list[MockTodo]


class MockPermission(MockFrame, frozen=True):
    id: str
    call: str
    tool: str
    action: str
    input: dict[str, Any]
    suggestions: list[Any] = []
    options: tuple[PermissionReply, ...] = ("once", "always", "reject")


class MockWithdrawn(MockFrame, frozen=True):
    """The agent withdrew a permission request."""

    id: str


class MockOption(Struct, frozen=True):
    label: str
    description: str | None = None


class MockQuestion(Struct, frozen=True):
    header: str
    prompt: str
    options: list[MockOption]
    multi_select: bool


class MockQuestions(MockFrame, frozen=True):
    id: str
    questions: Annotated[list[MockQuestion], Meta(min_length=1)]


class MockRetry(Struct, frozen=True):
    attempt: int
    max: int
    delay_ms: int


class MockError(MockFrame, frozen=True):
    code: str
    message: str
    retry: MockRetry | None = None
    subagent: str | None = None


class MockCompacted(MockFrame, frozen=True):
    id: str


class MockUsage(Struct, frozen=True):
    input: int
    output: int


class Responded(MockFrame, frozen=True):
    usage: MockUsage
    cost: float
    model: str
    subagent: str | None = None


class TurnEnd(MockFrame, frozen=True):
    stop: Literal["end_turn", "interrupted", "error"]
    usage: MockUsage
    cost: float
    error: str | None = None
