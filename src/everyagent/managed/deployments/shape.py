"""Deployments and their runs, as they are asked for, stored and shown."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from everyagent.managed.field_limits import Description, Name, PageLimit
from everyagent.managed.resources.agents.multiagent import AgentReference
from everyagent.managed.resources.agents.shape import AgentById
from everyagent.managed.sessions.client_events import SystemMessage, UserDefineOutcome, UserMessage
from everyagent.managed.sessions.shape import Budget
from everyagent.managed.workspace.shape import ResourceParams
from everyagent.model.parts import Object

InitialEvent: TypeAlias = UserMessage | UserDefineOutcome | SystemMessage
InitialEventList: TypeAlias = Annotated[list[InitialEvent], Meta(min_length=1, max_length=50)]
ResourceList: TypeAlias = Annotated[list[ResourceParams], Meta(max_length=500)]
VaultIds: TypeAlias = Annotated[list[str], Meta(max_length=50)]
DeploymentStatus: TypeAlias = Literal["active", "paused"]
TriggerType: TypeAlias = Literal["schedule", "manual"]


class CronSchedule(Struct, frozen=True, kw_only=True, tag_field="type", tag="cron"):
    """A cron expression of five fields, in an IANA time zone."""

    expression: Annotated[str, Meta(min_length=1, max_length=256)]
    timezone: Annotated[str, Meta(min_length=1, max_length=64)]


class ShownSchedule(CronSchedule, frozen=True, kw_only=True, tag_field="type", tag="cron"):
    last_run_at: str | None
    upcoming_runs_at: list[str]


class PausedByHand(Struct, frozen=True, kw_only=True, tag_field="type", tag="manual"):
    pass


class ErrorType(Struct, frozen=True, kw_only=True):
    type: str


class PausedByError(Struct, frozen=True, kw_only=True, tag_field="type", tag="error"):
    """A scheduled run failed, and later ones would fail as well."""

    error: ErrorType


class DeploymentCreate(Struct, frozen=True, kw_only=True):
    name: Name
    agent: str | AgentById
    environment_id: str
    initial_events: InitialEventList
    budget: Budget | None = None
    description: Description | None = None
    metadata: dict[str, str] | None = None
    resources: ResourceList | None = None
    schedule: CronSchedule | None = None
    vault_ids: VaultIds | None = None


class DeploymentUpdate(Struct, frozen=True, kw_only=True):
    """Omitted fields stay as they are."""

    name: Name | UnsetType = UNSET
    agent: str | AgentById | UnsetType = UNSET
    environment_id: str | UnsetType = UNSET
    initial_events: InitialEventList | UnsetType = UNSET
    budget: Budget | UnsetType | None = UNSET
    description: Description | UnsetType | None = UNSET
    metadata: dict[str, str | None] | UnsetType | None = UNSET
    resources: ResourceList | UnsetType | None = UNSET
    schedule: CronSchedule | UnsetType | None = UNSET
    vault_ids: VaultIds | UnsetType | None = UNSET


class DeploymentBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of repositories are in the record's secret. `next_at` is the next run of the schedule, in microseconds."""

    name: str
    agent: AgentReference
    environment_id: str
    initial_events: list[InitialEvent]
    budget: Budget | None = None
    description: str | None = None
    metadata: dict[str, str] = {}
    resources: list[ResourceParams] = []
    vault_ids: list[str] = []
    schedule: CronSchedule | None = None
    paused: PausedByHand | PausedByError | None = None
    next_at: int | None = None
    last_run_at: int | None = None


class Deployment(Struct, frozen=True, kw_only=True, tag_field="type", tag="deployment"):
    id: str
    name: str
    agent: AgentReference
    environment_id: str
    initial_events: list[Object]
    budget: Budget | None
    description: str | None
    metadata: dict[str, str]
    resources: list[Object]
    vault_ids: list[str]
    schedule: ShownSchedule | None
    status: DeploymentStatus
    paused_reason: PausedByHand | PausedByError | None
    created_at: str
    updated_at: str
    archived_at: str | None


class ScheduleTrigger(Struct, frozen=True, kw_only=True, tag_field="type", tag="schedule"):
    scheduled_at: str


class ManualTrigger(Struct, frozen=True, kw_only=True, tag_field="type", tag="manual"):
    pass


class RunError(Struct, frozen=True, kw_only=True):
    type: str
    message: str


class RunBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    agent: AgentReference
    deployment_id: str
    trigger_context: ScheduleTrigger | ManualTrigger
    session_id: str | None = None
    error: RunError | None = None


class DeploymentRun(Struct, frozen=True, kw_only=True, tag_field="type", tag="deployment_run"):
    """`session_id` is that of the run's session; null if none was made: `error` says why."""

    id: str
    agent: AgentReference
    deployment_id: str
    trigger_context: ScheduleTrigger | ManualTrigger
    session_id: str | None
    error: RunError | None
    created_at: str


class DeploymentListQuery(Struct, frozen=True, kw_only=True):
    agent_id: str | None = None
    status: DeploymentStatus | None = None
    created_at_gte: datetime | None = None
    created_at_lte: datetime | None = None
    include_archived: bool = False
    limit: PageLimit = 20
    page: str | None = None


class RunListQuery(Struct, frozen=True, kw_only=True):
    deployment_id: str | None = None
    has_error: bool | None = None
    trigger_type: TriggerType | None = None
    created_at_gt: datetime | None = None
    created_at_gte: datetime | None = None
    created_at_lt: datetime | None = None
    created_at_lte: datetime | None = None
    limit: PageLimit = 20
    page: str | None = None
