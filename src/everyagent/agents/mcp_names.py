"""Parses tool names of MCP servers: `mcp__server__tool`."""

_MCP = "mcp__"


def server_and_tool(name: str) -> tuple[str | None, str]:
    """Split a tool's name. The server is None for an agent's own tools."""
    if not name.startswith(_MCP):
        return None, name
    server, _, tool = name[len(_MCP) :].partition("__")
    return (server, tool) if tool else (None, name)
