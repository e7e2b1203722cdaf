"""The events of the Managed Agents API that sessions emit; clients' events are in `sessions/client_events.py`.

The log stores the type of an event as a number.
"""

from typing import Final, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from everyagent.log.projections import HIDDEN
from everyagent.managed.sessions.blocks import MessageBlock, Redacted, ResultBlock, Text
from everyagent.model.parts import Json, Object

Permission: TypeAlias = Literal["allow", "ask", "deny"]
#: The type number of events on a sub-agent's thread, which are not in the session's own list and stream.
ON_THREAD: Final = HIDDEN


class ManagedEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`type` is the tag of each event, and the first field on the wire."""

    id: str
    processed_at: str


class AgentMessage(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="agent.message"):
    content: list[Text | Redacted]


class AgentThinking(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="agent.thinking"):
    pass


class ToolUse(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="agent.tool_use"):
    name: str
    input: Object
    evaluated_permission: Permission | UnsetType = UNSET
    evaluation: Json | UnsetType = UNSET
    session_thread_id: str | None = None


class ToolResult(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="agent.tool_result"):
    tool_use_id: str
    content: list[ResultBlock]
    is_error: bool | None = None


class McpToolUse(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="agent.mcp_tool_use"):
    name: str
    mcp_server_name: str
    input: Object
    evaluated_permission: Permission | UnsetType = UNSET
    evaluation: Json | UnsetType = UNSET
    session_thread_id: str | None = None


class McpToolResult(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="agent.mcp_tool_result"):
    mcp_tool_use_id: str
    content: list[ResultBlock]
    is_error: bool | None = None


class CustomToolUse(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="agent.custom_tool_use"):
    name: str
    input: Object
    session_thread_id: str | None = None


class ThreadMessageSent(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="agent.thread_message_sent"):
    to_session_thread_id: str
    content: list[MessageBlock]
    to_agent_name: str | None = None


class ThreadMessageReceived(
    ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="agent.thread_message_received"
):
    from_session_thread_id: str
    content: list[MessageBlock]
    from_agent_name: str | None = None


class ContextCompacted(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="agent.thread_context_compacted"):
    pass


class StatusRunning(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.status_running"):
    pass


class StatusRescheduled(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.status_rescheduled"):
    pass


class StatusTerminated(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.status_terminated"):
    pass


class Stop(Struct, frozen=True, kw_only=True, omit_defaults=True):
    type: Literal["end_turn", "requires_action", "retries_exhausted", "budget_reached", "refusal"] = field()
    event_ids: list[str] | UnsetType = UNSET


class StopDetails(Struct, frozen=True, kw_only=True, tag_field="type", tag="refusal"):
    explanation: str | None = None
    category: str | None = None


class StatusIdle(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.status_idle"):
    stop_reason: Stop
    stop_details: StopDetails | None = field(default=None)


class Retrying(Struct, frozen=True, kw_only=True):
    type: Literal["retrying", "exhausted", "terminal"]


class SessionFailure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error, with one of the API's error types."""

    type: str = field()
    message: str = field()
    retry_status: Retrying
    mcp_server_name: str | None = None
    repository_url: str | None = None


class SessionError(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.error"):
    error: SessionFailure


class ManagedSessionUpdated(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.updated"):
    """Only changed fields are set."""

    title: str | UnsetType | None = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    agent: Json | UnsetType = UNSET
    budget: Json | UnsetType = UNSET


class SessionUsage(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.usage"):
    usage: Json
    budget: Json | UnsetType = UNSET


class SessionDeleted(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.deleted"):
    pass


class ThreadCreated(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.thread_created"):
    session_thread_id: str
    agent_name: str


class ThreadRunning(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.thread_status_running"):
    session_thread_id: str
    agent_name: str


class ThreadRescheduled(
    ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.thread_status_rescheduled"
):
    session_thread_id: str
    agent_name: str


class ThreadTerminated(
    ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.thread_status_terminated"
):
    session_thread_id: str
    agent_name: str


class ThreadIdle(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="session.thread_status_idle"):
    session_thread_id: str
    agent_name: str
    stop_reason: Stop
    stop_details: StopDetails | None = None


class ModelRequestUsage(Struct, frozen=True, kw_only=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class ModelRequestStart(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="span.model_request_start"):
    pass


class ModelRequestEnd(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="span.model_request_end"):
    model_request_start_id: str
    model_usage: ModelRequestUsage
    is_error: bool | None = None


class EvaluationStart(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="span.outcome_evaluation_start"):
    outcome_id: str
    iteration: int


class EvaluationOngoing(
    ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="span.outcome_evaluation_ongoing"
):
    outcome_id: str
    iteration: int


class EvaluationEnd(ManagedEvent, frozen=True, kw_only=True, tag_field="type", tag="span.outcome_evaluation_end"):
    outcome_id: str
    iteration: int
    outcome_evaluation_start_id: str
    result: str
    explanation: str
    usage: ModelRequestUsage


_AGENTS: tuple[type[ManagedEvent], ...] = (
    AgentMessage,
    AgentThinking,
    ToolUse,
    ToolResult,
    McpToolUse,
    McpToolResult,
    CustomToolUse,
    ThreadMessageSent,
    ThreadMessageReceived,
    ContextCompacted,
    StatusRunning,
    StatusRescheduled,
    StatusTerminated,
    StatusIdle,
    SessionError,
    ManagedSessionUpdated,
    SessionUsage,
    ThreadCreated,
    ThreadRunning,
    ThreadRescheduled,
    ThreadTerminated,
    ThreadIdle,
    ModelRequestStart,
    ModelRequestEnd,
    EvaluationStart,
    EvaluationOngoing,
    EvaluationEnd,
)
_CLIENTS = (
    "user.message",
    "user.interrupt",
    "user.tool_confirmation",
    "user.custom_tool_result",
    "user.tool_result",
    "user.define_outcome",
    "system.message",
)
#: Types of the API that are never emitted here; clients may still filter by them.
_UNSEEN = (
    "workflow_run.created",
    "workflow_run.status_running",
    "workflow_run.status_idle",
    "workflow_run.status_ended",
    "workflow_run.error",
    "workflow_run.phase_started",
    "workflow_run.phase_ended",
)


def type_of(event: type[ManagedEvent]) -> str:
    return str(event.__struct_config__.tag)


#: Ordered by their stored numbers: append only.
TYPE_NUMBERS: Final = {name: number for number, name in enumerate((*map(type_of, _AGENTS), *_CLIENTS, *_UNSEEN), 1)}
