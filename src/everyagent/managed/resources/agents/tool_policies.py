"""Translates an agent's toolsets to the tool policies and custom tools of a universal session."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from everyagent.agents.adapter import Catalog
from everyagent.managed.resources.agents.tools import (
    AgentToolset,
    BuiltInConfig,
    CustomToolParams,
    DefaultConfig,
    McpConfig,
    McpToolset,
    Tool,
)
from everyagent.managed.resources.agents.toolset import TOOLSET_SCHEMAS
from everyagent.model import tools as universal
from everyagent.model.policies import ServerPolicies, ToolPolicies, Verdict
from everyagent.model.web_domains import WebDomains

_VERDICTS: dict[str, Verdict] = {"always_allow": "allow", "always_ask": "ask", "auto": "auto"}

_INSTEAD: dict[Verdict, tuple[Verdict, ...]] = {
    "allow": ("auto",),
    "auto": ("ask", "deny"),
    "ask": ("deny",),
    "deny": (),
}


def policies_of(tools: Sequence[Tool], *, self_hosted: bool) -> ToolPolicies:
    """An agent without the agent toolset, or whose client runs the toolset, has no tools of its own."""
    default: Verdict = "deny"
    own: dict[str, Verdict] = {}
    servers: dict[str, ServerPolicies] = {}
    domains: WebDomains | UnsetType = UNSET
    for tool in tools:
        match tool:
            case AgentToolset() if not self_hosted:
                default = _verdict(tool.default_config)
                own = {config.name: _of_built_in(config) for config in tool.configs}
                domains = next((_domains(each) for each in tool.configs if each.name == "web_fetch"), UNSET)
            case McpToolset():
                named: dict[str, Verdict] = {config.name: _verdict(config) for config in tool.configs}
                servers[tool.mcp_server_name] = ServerPolicies(default=_verdict(tool.default_config), tools=named)
            case _:
                continue
    has_own = not self_hosted and any(isinstance(tool, AgentToolset) for tool in tools)
    return ToolPolicies(default=default, tools=own, mcp=servers, own_tools=has_own, web_fetch=domains)


def fitted(policies: ToolPolicies, catalog: Catalog) -> ToolPolicies:
    """Replaces verdicts that the agent cannot enforce by stricter ones: a tool that cannot ask first is denied.

    A verdict that has no stricter substitute stays, and the creation of the session is refused.
    """
    strict: dict[str, Verdict] = dict(policies.tools)
    for tool in catalog.tools:
        verdict = policies.verdict(tool)
        instead: list[Verdict] = [each for each in _INSTEAD[verdict] if each in tool.verdicts]
        if verdict not in tool.verdicts and instead:
            strict[tool.name] = instead[0]
        if policies.web_fetch is not UNSET and "web_fetch" in tool.kinds and not tool.domains:
            strict[tool.name] = "deny"
    return replace(policies, tools=strict)


def custom_tools(tools: Sequence[Tool], *, self_hosted: bool) -> list[universal.CustomTool]:
    """The tools that the client runs: its custom tools, and in a self-hosted environment the toolset."""
    found: list[universal.CustomTool] = []
    for tool in tools:
        match tool:
            case CustomToolParams():
                found.append(
                    universal.CustomTool(name=tool.name, description=tool.description, input_schema=tool.input_schema)
                )
            case AgentToolset() if self_hosted:
                found += [made for name, made in TOOLSET_SCHEMAS.items() if _enabled(tool, name)]
            case _:
                continue
    return found


def _enabled(toolset: AgentToolset, name: str) -> bool:
    named = [config for config in toolset.configs if config.name == name]
    return _verdict(named[0] if named else toolset.default_config) != "deny"


def _of_built_in(config: BuiltInConfig) -> Verdict:
    """No agent says which domains its search looks at, so a search with domains is denied."""
    return "deny" if config.name == "web_search" and _domains(config) is not UNSET else _verdict(config)


def _domains(config: BuiltInConfig) -> WebDomains | UnsetType:
    if not config.allowed_domains and not config.blocked_domains:
        return UNSET
    return WebDomains(allowed_domains=config.allowed_domains or None, blocked_domains=config.blocked_domains or [])


def _verdict(config: BuiltInConfig | McpConfig | DefaultConfig | None) -> Verdict:
    if config is None:
        return "allow"
    if config.enabled is False:
        return "deny"
    return _VERDICTS[config.permission_policy.type] if config.permission_policy else "allow"
