"""Tool policies: what becomes of an agent's tool calls, whatever the agent itself would do about them.

A client gives them with a session; every adapter asks `verdict` before a tool of its agent runs.
"""

from typing import Literal, TypeAlias

from msgspec import Struct, field

Verdict: TypeAlias = Literal["allow", "ask", "deny", "auto"]
VERDICTS: tuple[Verdict, ...] = ("allow", "ask", "deny", "auto")

#: The names every agent's tools go by, where it has such a tool.
TOOLS: tuple[str, ...] = ("bash", "read", "write", "edit", "glob", "grep", "web_fetch", "web_search")

_STRICTEST_FIRST: tuple[Verdict, ...] = ("deny", "ask", "auto", "allow")


class AgentTool(Struct, frozen=True, kw_only=True, rename="camel"):
    """One of an agent's own tools. `kinds` are those of `TOOLS` it is; `verdicts` what can be enforced on it.

    `by_name`: it only puts a question to the user, so no default is about it; a policy has to name it.
    """

    name: str
    kinds: list[str] = []
    verdicts: list[Verdict] = field(default_factory=lambda: list(VERDICTS))
    by_name: bool = False


class ServerPolicies(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The tools of one MCP server. Without a `default` it is the session's."""

    default: Verdict | None = None
    tools: dict[str, Verdict] = {}


class ToolPolicies(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`allow` never asks, `ask` always does, `deny` never runs; `auto` is up to the permission mode and the agent.

    `tools` are by universal name or by the agent's own, which counts more; `mcp` is by the server's name. Without
    `own_tools` the agent has only the tools of the session's MCP servers and its custom tools.
    """

    default: Verdict = "auto"
    tools: dict[str, Verdict] = {}
    mcp: dict[str, ServerPolicies] = {}
    own_tools: bool = True

    def verdict(self, tool: AgentTool) -> Verdict:
        """On one of the agent's own tools. One that is several kinds at once gets the strictest of theirs."""
        if not self.own_tools:
            return "deny"
        if tool.name in self.tools:
            return self.tools[tool.name]
        if tool.by_name:
            return "auto"
        verdicts = [self.tools.get(kind, self.default) for kind in tool.kinds] or [self.default]
        return next(verdict for verdict in _STRICTEST_FIRST if verdict in verdicts)

    def server_verdict(self, server: str, tool: str) -> Verdict:
        """On a tool of an MCP server."""
        policies = self.mcp.get(server, ServerPolicies())
        return policies.tools.get(tool, policies.default or self.default)

    def custom_verdict(self, tool: str) -> Verdict:
        """On a custom tool, which the client carries out itself: only what names it counts."""
        return self.tools.get(tool, "allow")


UNRESTRICTED = ToolPolicies()


def refusal(tool: str) -> str:
    """What the model is told of a tool that was denied."""
    return f"The session's tool policies do not allow {tool}. Do it another way, or say that it cannot be done."
