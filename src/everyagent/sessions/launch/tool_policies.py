"""Checks that an agent can enforce a session's tool policies. Policies that it cannot enforce are refused."""

from collections.abc import Sequence

from msgspec import UNSET

from everyagent.agents.adapter import Adapter, Catalog
from everyagent.errors import UnsupportedChoice
from everyagent.model.policies import TOOLS, UNRESTRICTED, ToolPolicies
from everyagent.model.tools import CustomTool


def enforceable(
    policies: ToolPolicies, adapter: Adapter, catalog: Catalog, custom: Sequence[CustomTool]
) -> ToolPolicies:
    """Returns the policies. Raises for a policy that cannot be enforced on this agent."""
    if policies == UNRESTRICTED:
        return policies
    if not adapter.capabilities.tool_policies:
        raise _refused(f"{adapter.title} does not support tool policies. Leave `toolPolicies` out.")
    if not policies.own_tools and not adapter.capabilities.own_tools_off:
        raise _refused(f"{adapter.title}'s own tools cannot be switched off. Leave `ownTools` out, or name them.")
    named = {tool.name for tool in catalog.tools} | {tool.name for tool in custom} | set(TOOLS)
    unknown = [name for name in policies.tools if name not in named]
    if unknown and not catalog.open_tools:
        raise _refused(
            f"{adapter.title} has no tool {', '.join(map(repr, unknown))}. It has: {', '.join(sorted(named))}.",
            choices=sorted(named),
        )
    for tool in catalog.tools:
        verdict = policies.verdict(tool)
        fetches = policies.web_fetch is not UNSET and "web_fetch" in tool.kinds and verdict != "deny"
        if fetches and not tool.domains:
            raise _refused(
                f"{adapter.title}'s tool {tool.name!r} cannot be held to the domains of `webFetch`. Deny the tool, or "
                "leave `webFetch` out.",
                tool=tool.name,
            )
        if verdict not in tool.verdicts:
            raise _refused(
                f"{verdict!r} cannot be enforced on {adapter.title}'s tool {tool.name!r}. Name the tool with one of: "
                f"{', '.join(tool.verdicts)}.",
                tool=tool.name,
                choices=tool.verdicts,
            )
    return policies


def _refused(why: str, **facts: object) -> UnsupportedChoice:
    return UnsupportedChoice(why, field="toolPolicies", **facts)
