"""Tool definitions of an agent, as requested and with all defaults filled in."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from everyagent.errors import BadRequest
from everyagent.model.parts import Json

BuiltIn: TypeAlias = Literal["bash", "edit", "read", "write", "glob", "grep", "web_fetch", "web_search"]
BUILT_IN: tuple[BuiltIn, ...] = ("bash", "edit", "read", "write", "glob", "grep", "web_fetch", "web_search")
_DOMAINS_OF = ("web_fetch", "web_search")


class PermissionPolicy(Struct, frozen=True, kw_only=True):
    type: Literal["always_allow", "always_ask", "auto"]


class DefaultConfig(Struct, frozen=True, kw_only=True):
    enabled: bool | None = None
    permission_policy: PermissionPolicy | None = None


class BuiltInConfig(Struct, frozen=True, kw_only=True):
    """`allowed_domains` and the fields after it apply to web tools only."""

    name: BuiltIn
    type: BuiltIn | UnsetType = UNSET
    enabled: bool | None = None
    permission_policy: PermissionPolicy | None = None
    allowed_domains: list[str] | UnsetType | None = UNSET
    blocked_domains: list[str] | UnsetType | None = UNSET
    max_content_tokens: int | UnsetType | None = UNSET
    url_sources: dict[str, Json] | UnsetType | None = UNSET
    user_location: dict[str, Json] | UnsetType | None = UNSET


class McpConfig(Struct, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=128)]
    enabled: bool | None = None
    permission_policy: PermissionPolicy | None = None


class AgentToolset(Struct, frozen=True, kw_only=True, tag="agent_toolset_20260401"):
    """The tools that every coding agent has."""

    configs: list[BuiltInConfig] = []
    default_config: DefaultConfig | None = None


class McpToolset(Struct, frozen=True, kw_only=True, tag="mcp_toolset"):
    """The tools of one of the agent's MCP servers."""

    mcp_server_name: Annotated[str, Meta(min_length=1, max_length=255)]
    configs: list[McpConfig] = []
    default_config: DefaultConfig | None = None


class CustomToolParams(Struct, frozen=True, kw_only=True, tag="custom"):
    """A tool that the client runs."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
    description: Annotated[str, Meta(max_length=4096)]
    input_schema: dict[str, Json]


Tool: TypeAlias = AgentToolset | McpToolset | CustomToolParams


def resolved(tools: list[Tool]) -> list[Tool]:
    """Fills in the policy of every tool."""
    names: set[str] = set()
    for tool in tools:
        name = _unique_name(tool)
        if name in names:
            raise BadRequest(f"`tools` names {name} twice.", field="tools")
        names.add(name)
    return [_resolved(tool) for tool in tools]


def _unique_name(tool: Tool) -> str:
    match tool:
        case AgentToolset():
            return "the agent toolset"
        case McpToolset():
            return f"the toolset of the MCP server {tool.mcp_server_name!r}"
        case CustomToolParams():
            return f"the custom tool {tool.name!r}"


def _resolved(tool: Tool) -> Tool:
    match tool:
        case AgentToolset():
            default = _default(tool.default_config, "always_allow")
            return AgentToolset(default_config=default, configs=[_built_in(each, default) for each in tool.configs])
        case McpToolset():
            default = _default(tool.default_config, "always_ask")
            configs = [replace(each, **_filled(each, default)) for each in tool.configs]
            return replace(tool, default_config=default, configs=configs)
        case CustomToolParams():
            if tool.input_schema.get("type") != "object":
                raise BadRequest(f"The `input_schema` of {tool.name!r} must be of type `object`.", field="tools")
            return tool


def _default(given: DefaultConfig | None, policy: Literal["always_allow", "always_ask"]) -> DefaultConfig:
    given = given or DefaultConfig()
    return DefaultConfig(
        enabled=True if given.enabled is None else given.enabled,
        permission_policy=given.permission_policy or PermissionPolicy(type=policy),
    )


def _built_in(config: BuiltInConfig, default: DefaultConfig) -> BuiltInConfig:
    if config.type not in (UNSET, config.name):
        raise BadRequest(f"A tool's `type` is its `name`: {config.name!r} is not {config.type!r}.", field="tools")
    if config.allowed_domains and config.blocked_domains:
        raise BadRequest(f"{config.name!r} has either `allowed_domains` or `blocked_domains`.", field="tools")
    if config.name not in _DOMAINS_OF and (config.allowed_domains or config.blocked_domains):
        raise BadRequest(f"{config.name!r} knows no domains.", field="tools")
    return replace(config, type=config.name, **_filled(config, default))


def _filled(config: BuiltInConfig | McpConfig, default: DefaultConfig) -> dict[str, object]:
    return {
        "enabled": default.enabled if config.enabled is None else config.enabled,
        "permission_policy": config.permission_policy or default.permission_policy,
    }
