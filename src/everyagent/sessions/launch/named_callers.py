"""Marks everyagent's own MCP server among a session's, so that the daemon knows which session uses it. Pure."""

from collections.abc import Mapping
from pathlib import PurePath
from urllib.parse import urlsplit

from msgspec.structs import replace

from everyagent.model.tools import SESSION_HEADER, SESSION_VARIABLE, McpLocal, McpServer

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def named(servers: Mapping[str, McpServer], session_id: str, url: str | None) -> dict[str, McpServer]:
    """The servers; those that are `everyagent mcp`, or `/mcp` of the daemon at `url`, name the session."""
    return {name: _named(server, session_id, url) for name, server in servers.items()}


def _named(server: McpServer, session_id: str, url: str | None) -> McpServer:
    if isinstance(server, McpLocal):
        names = [PurePath(word).name for word in server.command]
        ours = "mcp" in names and "everyagent" in names[: names.index("mcp")]
        return replace(server, env={**server.env, SESSION_VARIABLE: session_id}) if ours else server
    if url is None or not _is_ours(server.url, url):
        return server
    kept = {name: value for name, value in server.headers.items() if name.lower() != SESSION_HEADER}
    return replace(server, headers={**kept, SESSION_HEADER: session_id})


def _is_ours(address: str, url: str) -> bool:
    try:
        given, own = urlsplit(address), urlsplit(url)
        same_port = given.port == own.port
    except ValueError:
        return False
    hosts = {given.hostname, own.hostname}
    return same_port and given.path.rstrip("/").endswith("/mcp") and (len(hosts) == 1 or hosts <= _LOOPBACK)
