"""Decides permission requests of ACP agents by tool policies and permission modes. Pure.

An agent can only be held to what it asks for, so tool policies put it into the mode in which it asks for most; its
catalog says which of its tools it never asks for.
"""

from typing import Literal, TypeAlias

from everyagent.agents.acp.calls import AcpCall
from everyagent.agents.acp.names import ToolName
from everyagent.agents.acp.profile import Profile
from everyagent.model.policies import TOOLS, UNRESTRICTED, AgentTool, ToolPolicies, Verdict

#: The MCP server with the session's custom tools. The daemon itself applies policies to those.
CUSTOM_SERVER = "everyagent"
#: None: the user decides.
Decision: TypeAlias = Literal["allow", "reject"] | None

_EDITS = frozenset({"edit", "write"})
_CHANGING = frozenset({"execute", "edit", "delete", "move", "other"})


def verdict(policies: ToolPolicies, profile: Profile, tool: ToolName) -> Verdict:
    if tool.server == CUSTOM_SERVER:
        return "allow"
    if tool.server:
        return policies.server_verdict(tool.server, tool.tool)
    if tool.tool in profile.delegates and restricts(policies):
        return "deny"
    return policies.verdict(_known(profile, tool.tool))


def decide(verdict: Verdict, profile: Profile, mode: str, call: AcpCall, tool: ToolName) -> Decision:
    """`mode` is the session's permission mode. In plan mode nothing may change, whatever the policies allow."""
    planning = mode == "plan" and "plan" not in profile.modes and (call.kind or "other") in _CHANGING
    match verdict:
        case "deny":
            return "reject"
        case "ask":
            return None
        case "allow":
            return "reject" if planning and tool.server != CUSTOM_SERVER else "allow"
        case "auto":
            if planning:
                return "reject"
            if mode == "bypass":
                return "allow"
            edits = call.kind == "edit" or bool(_EDITS & set(_known(profile, tool.tool).kinds))
            return "allow" if mode == "acceptEdits" and edits else None


def native_mode(profile: Profile, mode: str, policies: ToolPolicies) -> str | None:
    """The agent's own mode for a permission mode, which may be one of its own; None to leave it as it is."""
    if policies != UNRESTRICTED and mode != "plan":
        return profile.asking
    return profile.modes.get(mode) or (profile.asking if mode in ("default", "plan", "acceptEdits", "bypass") else mode)


def universal_mode(profile: Profile, native: str) -> str:
    return next((mode for mode, own in profile.modes.items() if own == native), native)


def restricts(policies: ToolPolicies) -> bool:
    """Whether any tool is denied or must be asked for."""
    given = [policies.default, *policies.tools.values()]
    given += [
        verdict for server in policies.mcp.values() for verdict in (server.default, *server.tools.values()) if verdict
    ]
    return not policies.own_tools or "deny" in given or "ask" in given


def _known(profile: Profile, name: str) -> AgentTool:
    known = next((tool for tool in profile.tools if tool.name == name), None)
    return known or AgentTool(name=name, kinds=[name] if name in TOOLS else [])
