"""Tool policies of a session: which tools are allowed, denied or need permission.

Set by the client with a session; every adapter calls `verdict` before a tool of its agent runs.
"""

from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from everyagent.model.web_domains import WebDomains

Verdict: TypeAlias = Literal["allow", "ask", "deny", "auto"]
VERDICTS: tuple[Verdict, ...] = ("allow", "ask", "deny", "auto")

#: Universal tool names, which apply to every agent that has such a tool.
TOOLS: tuple[str, ...] = ("bash", "read", "write", "edit", "glob", "grep", "web_fetch", "web_search")

_STRICTEST_FIRST: tuple[Verdict, ...] = ("deny", "ask", "auto", "allow")


class AgentTool(Struct, frozen=True, kw_only=True, rename="camel"):
    """One of an agent's own tools. `kinds` are its universal names; `verdicts` are those that can be enforced on it.

    `byName`: defaults do not apply, because the tool only asks the user a question; a policy has to name it.
    `domains`: `webFetch` can be enforced on it.
    """

    name: str
    kinds: list[str] = []
    verdicts: list[Verdict] = field(default_factory=lambda: list(VERDICTS))
    by_name: bool = False
    domains: bool = False


class ServerPolicies(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Policies for the tools of one MCP server. Without a `default`, that of the session applies."""

    default: Verdict | None = None
    tools: dict[str, Verdict] = {}


class ToolPolicies(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`allow` runs without asking, `ask` always asks, `deny` never runs, `auto` follows the permission mode.

    `tools` maps universal names or the agent's own, which take precedence; `mcp` maps server names. Without
    `ownTools` the agent has only the tools of the session's MCP servers and its custom tools.

    `webFetch` are the domains of the pages that its tool for `web_fetch` may get, if that may run at all.
    """

    default: Verdict = "auto"
    tools: dict[str, Verdict] = {}
    mcp: dict[str, ServerPolicies] = {}
    own_tools: bool = True
    web_fetch: WebDomains | UnsetType = UNSET

    def verdict(self, tool: AgentTool) -> Verdict:
        """The verdict on one of the agent's own tools; the strictest one if it has several universal names."""
        if not self.own_tools:
            return "deny"
        if tool.name in self.tools:
            return self.tools[tool.name]
        if tool.by_name:
            return "auto"
        verdicts = [self.tools.get(kind, self.default) for kind in tool.kinds] or [self.default]
        return next(verdict for verdict in _STRICTEST_FIRST if verdict in verdicts)

    def server_verdict(self, server: str, tool: str) -> Verdict:
        """The verdict on a tool of an MCP server."""
        policies = self.mcp.get(server, ServerPolicies())
        return policies.tools.get(tool, policies.default or self.default)

    def custom_verdict(self, tool: str) -> Verdict:
        """The verdict on a custom tool. Defaults do not apply, because the client itself executes it."""
        return self.tools.get(tool, "allow")


UNRESTRICTED = ToolPolicies()


def refusal(tool: str) -> str:
    """The message to the model about a denied tool."""
    return f"The session's tool policies do not allow {tool}. Do it another way, or say that it cannot be done."
