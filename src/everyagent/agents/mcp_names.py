"""How agents name the tools of MCP servers: `mcp__server__tool`."""

_MCP = "mcp__"


def server_and_tool(name: str) -> tuple[str | None, str]:
    """Every other tool is the agent's own."""
    if not name.startswith(_MCP):
        return None, name
    server, _, tool = name[len(_MCP) :].partition("__")
    return (server, tool) if tool else (None, name)
