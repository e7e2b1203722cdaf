"""Names of tools: an agent's own, where it reports them, and the MCP server they belong to. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from everyagent.agents.acp.profile import NameSource
from everyagent.agents.acp.wire import AcpToolCall
from everyagent.agents.acp.wire_meta import CallMeta

#: Names for calls of which only the kind is known: the universal ones where there is one.
_BY_KIND = {
    "execute": "bash",
    "read": "read",
    "edit": "edit",
    "delete": "delete",
    "move": "move",
    "search": "grep",
    "fetch": "web_fetch",
    "think": "think",
    "switch_mode": "switch_mode",
}
#: How agents join the name of a server and of its tool.
_JOINTS = (("mcp__", "__"), ("mcp_", "_"), ("", "__"), ("", "-"))


class ToolName(NamedTuple):
    """`server` is None for an agent's own tools."""

    tool: str
    server: str | None = None


def name_of(call: AcpToolCall, meta: CallMeta, source: NameSource, servers: Sequence[str]) -> str | None:
    """The tool's name in this message; None if it has none."""
    match source:
        case "meta":
            named = meta.tool_name or meta.tool_name_snake
            return named or (meta.goose.tool_call.tool_name if meta.goose and meta.goose.tool_call else None)
        case "id":
            name, joint, _ = call.tool_call_id.partition("__")
            return name if joint and name else None
        case "title":
            return call.title
        case "kind":
            named = call.kind is not None and (not is_own(call.kind) or _is_of_server(call, servers))
            return call.title if named else None


def is_own(kind: str | None) -> bool:
    """Whether this is the kind of an agent's own tool. Copilot guesses kinds of MCP tools from their names, too."""
    return kind in _BY_KIND


def _is_of_server(call: AcpToolCall, servers: Sequence[str]) -> bool:
    """Whether the title is the name of an MCP server's tool. The model itself writes the titles of its commands."""
    title = call.title or ""
    command = call.kind == "execute" and b'"command"' in bytes(call.raw_input)
    return not command and " " not in title and split(title, servers).server is not None


def fallback(kind: str | None, title: str | None) -> str:
    return _BY_KIND.get(kind or "") or title or kind or "tool"


def split(name: str, servers: Sequence[str]) -> ToolName:
    """Split the name of a tool of one of the session's MCP servers."""
    for server in servers:
        for start, joint in _JOINTS:
            prefix = f"{start}{server}{joint}"
            if name.startswith(prefix) and len(name) > len(prefix):
                return ToolName(name[len(prefix) :], server)
    return ToolName(name)
