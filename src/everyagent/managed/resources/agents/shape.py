"""The wire types of agents: requests, responses, and the snapshot that a session keeps."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from everyagent.managed.field_limits import Description, Name
from everyagent.managed.resources.agents.multiagent import Multiagent
from everyagent.managed.resources.agents.tools import Tool
from everyagent.model.parts import Json

System: TypeAlias = Annotated[str, Meta(max_length=100_000)]
Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
ModelId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=256)]


class EffortType(Struct, frozen=True, kw_only=True):
    type: Effort


class ModelConfig(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: ModelId
    effort: EffortType | None = None
    inference_geo: str | None = None
    speed: Literal["standard", "fast"] | None = None


class ModelParams(Struct, frozen=True, kw_only=True):
    id: ModelId
    effort: Effort | EffortType | None = None
    inference_geo: str | None = None
    speed: Literal["standard", "fast"] | None = None


class McpServer(Struct, frozen=True, kw_only=True, tag="url"):
    name: Annotated[str, Meta(min_length=1, max_length=255)]
    url: Annotated[str, Meta(pattern="^https?://", max_length=2048)]


class SkillParams(Struct, frozen=True, kw_only=True):
    """Without a `version`, the newest."""

    type: Literal["anthropic", "custom"]
    skill_id: Annotated[str, Meta(min_length=1, max_length=256)]
    version: str | None = None


class ServiceAccount(Struct, frozen=True, kw_only=True, tag="service_account"):
    """The user that runs the daemon."""


class AwsRole(Struct, frozen=True, kw_only=True, tag="aws_role"):
    role_arn: str


Identity: TypeAlias = ServiceAccount | AwsRole
Tools: TypeAlias = Annotated[list[Tool], Meta(max_length=256)]
McpServers: TypeAlias = Annotated[list[McpServer], Meta(max_length=20)]
Skills: TypeAlias = Annotated[list[SkillParams], Meta(max_length=20)]


class AgentCreate(Struct, frozen=True, kw_only=True):
    name: Name
    model: ModelId | ModelParams
    description: Description | None = None
    system: System | None = None
    tools: Tools | None = None
    mcp_servers: McpServers | None = None
    skills: Skills | None = None
    metadata: dict[str, str] | None = None
    multiagent: Multiagent | None = None
    execution_identity: Identity | None = None


class AgentUpdate(Struct, frozen=True, kw_only=True):
    """Omitted fields stay as they are; null clears. With a `version`, fails unless that is the newest."""

    version: int | UnsetType | None = UNSET
    name: Name | UnsetType = UNSET
    model: ModelId | ModelParams | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    system: System | UnsetType | None = UNSET
    tools: Tools | UnsetType | None = UNSET
    mcp_servers: McpServers | UnsetType | None = UNSET
    skills: Skills | UnsetType | None = UNSET
    metadata: dict[str, str | None] | UnsetType | None = UNSET
    multiagent: Multiagent | UnsetType | None = UNSET
    execution_identity: Identity | UnsetType | None = UNSET


class AgentBody(Struct, frozen=True, kw_only=True):
    """One version of an agent, as it is stored."""

    version: int
    name: str
    model: ModelConfig
    description: str | None
    system: str | None
    tools: list[Tool]
    mcp_servers: list[McpServer]
    skills: list[SkillParams]
    metadata: dict[str, str]
    multiagent: Multiagent | None
    execution_identity: Identity


class Agent(AgentBody, frozen=True, kw_only=True, tag="agent"):
    id: str
    created_at: str
    updated_at: str
    archived_at: str | None


class SessionAgent(Struct, frozen=True, kw_only=True, tag="agent"):
    """A session's snapshot of its agent. Later versions do not change it."""

    id: str
    version: int
    name: str
    description: str | None
    model: ModelConfig
    system: str | None
    tools: list[Tool]
    mcp_servers: list[McpServer]
    skills: list[SkillParams]
    multiagent: Json
    execution_identity: Identity


class AgentById(Struct, frozen=True, kw_only=True, tag="agent"):
    id: str
    version: int | None = None


class AgentWithOverrides(Struct, frozen=True, kw_only=True, tag="agent_with_overrides"):
    """Omitted fields are the agent's own; null or an empty list clears one."""

    id: str
    version: int | None = None
    model: ModelId | ModelParams | UnsetType = UNSET
    system: System | UnsetType | None = UNSET
    tools: Tools | UnsetType | None = UNSET
    mcp_servers: McpServers | UnsetType | None = UNSET
    skills: Skills | UnsetType | None = UNSET


#: The three ways to name a session's agent.
AgentChoice: TypeAlias = str | AgentById | AgentWithOverrides
