"""An agent's toolsets as the tool policies and custom tools of a universal session."""

from collections.abc import Sequence

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

_VERDICTS: dict[str, Verdict] = {"always_allow": "allow", "always_ask": "ask", "auto": "auto"}

_INSTEAD: dict[Verdict, tuple[Verdict, ...]] = {
    "allow": ("auto",),
    "auto": ("ask", "deny"),
    "ask": ("deny",),
    "deny": (),
}


def policies_of(tools: Sequence[Tool], *, self_hosted: bool) -> ToolPolicies:
    """Without the agent toolset, or where the client carries it out, the agent has no tools of its own."""
    default: Verdict = "deny"
    own: dict[str, Verdict] = {}
    servers: dict[str, ServerPolicies] = {}
    for tool in tools:
        match tool:
            case AgentToolset() if not self_hosted:
                default = _verdict(tool.default_config)
                own = {config.name: _verdict(config) for config in tool.configs}
            case McpToolset():
                named: dict[str, Verdict] = {config.name: _verdict(config) for config in tool.configs}
                servers[tool.mcp_server_name] = ServerPolicies(default=_verdict(tool.default_config), tools=named)
            case _:
                continue
    has_own = not self_hosted and any(isinstance(tool, AgentToolset) for tool in tools)
    return ToolPolicies(default=default, tools=own, mcp=servers, own_tools=has_own)


def fitted(policies: ToolPolicies, catalog: Catalog) -> ToolPolicies:
    """As far as the agent can be held to them: a tool that cannot be asked for first is not there at all.

    Never less strict than asked for: what cannot be denied either is left, and refused when the session is made.
    """
    strict: dict[str, Verdict] = dict(policies.tools)
    for tool in catalog.tools:
        verdict = policies.verdict(tool)
        instead: list[Verdict] = [each for each in _INSTEAD[verdict] if each in tool.verdicts]
        if verdict not in tool.verdicts and instead:
            strict[tool.name] = instead[0]
    return replace(policies, tools=strict)


def custom_tools(tools: Sequence[Tool], *, self_hosted: bool) -> list[universal.CustomTool]:
    """What the client carries out: its own tools, and in an environment of its own the toolset as well."""
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


def _verdict(config: BuiltInConfig | McpConfig | DefaultConfig | None) -> Verdict:
    if config is None:
        return "allow"
    if config.enabled is False:
        return "deny"
    return _VERDICTS[config.permission_policy.type] if config.permission_policy else "allow"
