"""The events of a session: the envelope, and one data type per event type.

The rules for their order are in `docs/invariants.md`.
"""

from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

from msgspec import UNSET, Struct, UnsetType

from everyagent.model.asks import AskTimeout, PermissionDecision, PermissionReply, Question
from everyagent.model.items import Item, ItemRole
from everyagent.model.parts import Json
from everyagent.model.policies import ToolPolicies
from everyagent.model.principals import EventActor
from everyagent.model.usage import Usage

EventSource: TypeAlias = Literal["agent", "daemon"]
StopReason: TypeAlias = Literal[
    "end_turn", "interrupted", "error", "max_turns", "max_tokens", "refusal", "budget", "terminated"
]
ErrorCode: TypeAlias = Literal[
    "rate_limited",
    "overloaded",
    "auth",
    "context_exceeded",
    "model_not_found",
    "network",
    "agent_crashed",
    "agent_not_installed",
    "limit_exceeded",
    "timeout",
    "internal",
]
SessionStatus: TypeAlias = Literal["idle", "running", "waiting", "hibernated", "ended"]
PermissionStatus: TypeAlias = Literal["requested", "approved", "denied"]
DeltaKind: TypeAlias = Literal["text", "reasoning", "tool_input", "tool_output"]


class Data(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The payload of one event type; `type` is that of the envelope."""

    type: ClassVar[str]


class StderrOutput(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first 20 lines, and the last 50 if there are more between."""

    truncated: bool
    head: str | None = None
    tail: str | None = None
    total_lines: int | None = None


class Retry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`max` is None if the agent has no limit."""

    attempt: int
    delay_ms: int
    max: int | None = None


class SessionStarted(Data, frozen=True, kw_only=True):
    type: ClassVar[str] = "session.started"
    metadata: dict[str, Json] | None = None


class SessionUpdated(Data, frozen=True, kw_only=True):
    """Has only the fields that changed. `native_session_id`: the agent started or resumed its own session."""

    type: ClassVar[str] = "session.updated"
    status: SessionStatus | UnsetType = UNSET
    model: str | UnsetType | None = UNSET
    variant: str | UnsetType | None = UNSET
    agent_mode: str | UnsetType = UNSET
    permission_mode: str | UnsetType = UNSET
    title: str | UnsetType | None = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    tool_policies: ToolPolicies | UnsetType = UNSET
    ask_timeout: AskTimeout | UnsetType | None = UNSET
    budget_usd: float | UnsetType | None = UNSET
    budget_tokens: int | UnsetType | None = UNSET
    native_session_id: str | UnsetType = UNSET


class SessionEnded(Data, frozen=True, kw_only=True):
    type: ClassVar[str] = "session.ended"
    reason: Literal["completed", "error", "terminated"]
    terminated_by: EventSource
    message: str | None = None
    exit_code: int | None = None
    stderr: StderrOutput | None = None


class TurnStarted(Data, frozen=True, kw_only=True, tag_field="phase", tag="started"):
    """`phase` is missing in events of earlier versions. The turn is in the trace of `traceparent`, if that is set."""

    type: ClassVar[str] = "turn.started"
    turn_id: str
    input_item_ids: list[str]
    traceparent: str | None = None


class TurnEnded(Data, frozen=True, kw_only=True, tag_field="phase", tag="ended"):
    """`phase` is missing in events of earlier versions.

    `priced`: the cost was computed from the operator's prices, not reported by the agent.
    `pending_asks` stay open, because the daemon ended with the agent that asked: the next turn gives it the answers.
    """

    type: ClassVar[str] = "turn.ended"
    turn_id: str
    stop_reason: StopReason
    usage: Usage | None = None
    cost_usd: float | None = None
    priced: bool = False
    error: str | None = None
    pending_asks: list[str] = []


class ModelResponded(Data, frozen=True, kw_only=True):
    """A request to a model has ended. `priced`: `cost_usd` was computed from the operator's prices.

    `subagent` is the item id of the tool call whose sub-agent made the request.
    """

    type: ClassVar[str] = "model.responded"
    usage: Usage
    turn_id: str | None = None
    subagent: str | None = None
    model: str | None = None
    cost_usd: float | None = None
    priced: bool = False


class ItemStarted(Data, frozen=True, kw_only=True):
    type: ClassVar[str] = "item.started"
    item: Item


class ItemDelta(Data, frozen=True, kw_only=True):
    """`content_index` is the index of the content part that grows; `role` is that of the item.

    It is left out if it is `assistant`, which nearly all deltas are: a reader of the JSON takes it as the default.
    """

    type: ClassVar[str] = "item.delta"
    item_id: str
    native_item_id: str | None
    delta: str
    content_index: int
    kind: DeltaKind
    role: ItemRole | None = "assistant"


class ItemCompleted(Data, frozen=True, kw_only=True):
    type: ClassVar[str] = "item.completed"
    item: Item


class Permission(Data, frozen=True, kw_only=True):
    """A permission request. `action` names its kind; `input` is the exact input of the tool.

    `decision` is the `reply` in the words of sandbox-agent. At `expires_at` the daemon answers by itself.
    """

    permission_id: str
    action: str
    status: PermissionStatus
    metadata: dict[str, Json] | None = None
    tool: str | None = None
    input: Json = None
    options: list[PermissionReply] = []
    suggestions: list[Json] = []
    item_id: str | None = None
    reply: PermissionReply | None = None
    decision: PermissionDecision | None = None
    message: str | None = None
    expires_at: str | None = None


class PermissionRequested(Permission, frozen=True, kw_only=True):
    type: ClassVar[str] = "permission.requested"


class PermissionResolved(Permission, frozen=True, kw_only=True):
    """`source` is `daemon` also for a human's answer; `message` is the reason."""

    type: ClassVar[str] = "permission.resolved"


class Questions(Data, frozen=True, kw_only=True):
    """`prompt`, `options` and `response` belong to the first question. `expires_at` is that of a permission."""

    question_id: str
    prompt: str
    options: list[str]
    status: Literal["requested", "answered", "rejected"]
    questions: list[Question] = []
    item_id: str | None = None
    response: str | None = None
    answers: list[list[str]] | None = None
    message: str | None = None
    expires_at: str | None = None


class QuestionRequested(Questions, frozen=True, kw_only=True):
    type: ClassVar[str] = "question.requested"


class QuestionResolved(Questions, frozen=True, kw_only=True):
    type: ClassVar[str] = "question.resolved"


class Tool(Data, frozen=True, kw_only=True):
    """A call of one of the session's custom tools, which the client executes. `item_id` is the call, if known."""

    tool_id: str
    name: str
    input: Json
    status: Literal["requested", "answered", "failed"]
    item_id: str | None = None
    output: str | None = None
    is_error: bool | None = None
    message: str | None = None


class ToolRequested(Tool, frozen=True, kw_only=True):
    type: ClassVar[str] = "tool.requested"


class ToolResolved(Tool, frozen=True, kw_only=True):
    type: ClassVar[str] = "tool.resolved"


class Error(Data, frozen=True, kw_only=True):
    """`retry` is set while the agent or the daemon retries; `subagent` if the error is a sub-agent's."""

    type: ClassVar[str] = "error"
    message: str
    code: ErrorCode | None = None
    details: dict[str, Json] | None = None
    retry: Retry | None = None
    exit_code: int | None = None
    stderr: StderrOutput | None = None
    subagent: str | None = None


class Unparsed(Data, frozen=True, kw_only=True):
    """A native frame that could not be decoded. `location` names the decoder; the event's `raw` is the frame."""

    type: ClassVar[str] = "agent.unparsed"
    error: str
    location: str
    raw_hash: str | None = None


EventData: TypeAlias = (
    SessionStarted
    | SessionUpdated
    | SessionEnded
    | TurnStarted
    | TurnEnded
    | ModelResponded
    | ItemStarted
    | ItemDelta
    | ItemCompleted
    | PermissionRequested
    | PermissionResolved
    | QuestionRequested
    | QuestionResolved
    | ToolRequested
    | ToolResolved
    | Error
    | Unparsed
)

#: Every event type, in the order of the number that the log stores. Append only.
EVENT_TYPES: tuple[type[EventData], ...] = (
    SessionStarted,
    SessionEnded,
    SessionUpdated,
    TurnStarted,
    TurnEnded,
    ItemStarted,
    ItemDelta,
    ItemCompleted,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    Error,
    Unparsed,
    ToolRequested,
    ToolResolved,
    ModelResponded,
)
TYPE_NUMBERS: dict[str, int] = {data.type: number for number, data in enumerate(EVENT_TYPES, 1)}
DATA_BY_TYPE: dict[str, type[EventData]] = {data.type: data for data in EVENT_TYPES}

D = TypeVar("D")


class Envelope(Struct, Generic[D], frozen=True, kw_only=True):
    """`raw` must stay last: its stored `null` is replaced by the native frame if a client requests it.

    `actor` is set if a client caused the event.
    """

    event_id: str
    sequence: int
    time: str
    session_id: str
    native_session_id: str | None
    source: EventSource
    synthetic: bool
    actor: EventActor | UnsetType = UNSET
    type: str
    data: D
    raw: Json = None


Event: TypeAlias = Envelope[EventData]
