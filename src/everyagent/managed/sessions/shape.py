"""The wire types of managed sessions, threads and events."""

from datetime import datetime
from typing import Annotated, Generic, Literal, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from everyagent.managed.field_limits import PageLimit
from everyagent.managed.resources.agents.shape import AgentChoice, McpServers, Tools
from everyagent.managed.sessions.client_events import ClientEvent, UserDefineOutcome, UserMessage
from everyagent.managed.workspace.shape import MAX_RESOURCES, ResourceParams
from everyagent.model.parts import Object

SessionStatus: TypeAlias = Literal["rescheduling", "running", "idle", "terminated"]
#: The kind of the record that a session belongs to a deployment, whose id is its key.
DEPLOYMENT_KIND = "session_deployment"
Title: TypeAlias = Annotated[str, Meta(max_length=512)]
T = TypeVar("T")


class Money(Struct, frozen=True, kw_only=True):
    """`amount` is in minor units: cents."""

    amount: Annotated[str, Meta(pattern=r"^\d{1,12}(\.\d{1,6})?$")]
    currency: Literal["USD"] = "USD"


class Budget(Struct, frozen=True, kw_only=True, tag_field="type", tag="limit"):
    max_list_cost: Money


class SessionCreate(Struct, frozen=True, kw_only=True):
    agent: AgentChoice
    environment_id: str
    title: Title | None = None
    metadata: dict[str, str] | None = None
    resources: Annotated[list[ResourceParams], Meta(max_length=MAX_RESOURCES)] | None = None
    vault_ids: list[str] | None = None
    budget: Budget | None = None
    initial_events: Annotated[list[UserMessage | UserDefineOutcome], Meta(max_length=50)] | None = None


class SessionAgentUpdate(Struct, frozen=True, kw_only=True):
    """Omitted fields stay as they are."""

    tools: Tools | UnsetType | None = UNSET
    mcp_servers: McpServers | UnsetType | None = UNSET


class SessionUpdate(Struct, frozen=True, kw_only=True):
    """Omitted fields stay as they are. A null metadata value removes its key."""

    title: Title | UnsetType | None = UNSET
    metadata: dict[str, str | None] | UnsetType | None = UNSET
    budget: Budget | UnsetType | None = UNSET
    agent: SessionAgentUpdate | UnsetType = UNSET
    vault_ids: list[str] | UnsetType | None = UNSET


class SessionListQuery(Struct, frozen=True, kw_only=True):
    """`agent_version` is used together with `agent_id` only."""

    agent_id: str | None = None
    agent_version: int | None = None
    created_at_gt: datetime | None = None
    created_at_gte: datetime | None = None
    created_at_lt: datetime | None = None
    created_at_lte: datetime | None = None
    deployment_id: str | None = None
    memory_store_id: str | None = None
    include_archived: bool = False
    statuses: list[SessionStatus] = []
    order: Literal["asc", "desc"] = "desc"
    limit: PageLimit = 20
    page: str | None = None


class SessionStats(Struct, frozen=True, kw_only=True):
    active_seconds: float
    duration_seconds: float


class OutcomeEvaluation(Struct, frozen=True, kw_only=True, tag_field="type", tag="outcome_evaluation"):
    outcome_id: str
    description: str
    iteration: int
    result: str
    explanation: str | None
    completed_at: str | None


class ManagedSession(Struct, frozen=True, kw_only=True, tag_field="type", tag="session"):
    id: str
    status: str
    agent: Object
    environment_id: str
    title: str | None
    metadata: dict[str, str]
    resources: list[Object]
    vault_ids: list[str]
    budget: Object | None
    stats: SessionStats
    usage: Object
    outcome_evaluations: list[OutcomeEvaluation]
    created_at: str
    updated_at: str
    archived_at: str | None
    deployment_id: str | None = None


class SessionThread(Struct, frozen=True, kw_only=True, tag_field="type", tag="session_thread"):
    """`parent_thread_id` is null for the session's own thread."""

    id: str
    session_id: str
    parent_thread_id: str | None
    agent: Object
    status: str
    created_at: str
    updated_at: str
    archived_at: str | None
    stats: SessionStats | None = None
    usage: Object | None = None


class TwoWayPage(Struct, Generic[T], frozen=True, kw_only=True):
    """A page with cursors in both directions."""

    data: list[T]
    next_page: str | None
    prev_page: str | None


class SendEvents(Struct, frozen=True, kw_only=True):
    events: Annotated[list[ClientEvent], Meta(max_length=1000)]


class EventListQuery(Struct, frozen=True, kw_only=True):
    """Times filter by `processed_at`."""

    types: list[str] = []
    created_at_gt: datetime | None = None
    created_at_gte: datetime | None = None
    created_at_lt: datetime | None = None
    created_at_lte: datetime | None = None
    order: Literal["asc", "desc"] = "asc"
    limit: Annotated[int, Meta(ge=1, le=1000)] = 1000
    page: str | None = None


class EventTail(Struct, frozen=True, kw_only=True):
    event_deltas: list[Literal["agent.message", "agent.thinking"]] = []


class ThreadListQuery(Struct, frozen=True, kw_only=True):
    statuses: list[SessionStatus] = []
    limit: Annotated[int, Meta(ge=1, le=1000)] = 1000
    page: str | None = None


class ThreadEvents(Struct, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=1000)] = 1000
    page: str | None = None
