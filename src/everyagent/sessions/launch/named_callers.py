"""Marks everyagent's own MCP server among a session's, so that the daemon knows which session uses it. Pure."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from urllib.parse import urlsplit

from msgspec.structs import replace

from everyagent.model.tools import SESSION_HEADER, SESSION_VARIABLE, McpLocal, McpServer

_PORTS = {"http": 80, "https": 443}
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def named(servers: Mapping[str, McpServer], session_id: str, urls: Sequence[str]) -> dict[str, McpServer]:
    """The servers; those that are `everyagent mcp`, or `/mcp` of the daemon at one of `urls`, name the session."""
    return {name: _named(server, session_id, urls) for name, server in servers.items()}


def _named(server: McpServer, session_id: str, urls: Sequence[str]) -> McpServer:
    if isinstance(server, McpLocal):
        names = [PurePath(word).name for word in server.command]
        ours = "mcp" in names and "everyagent" in names[: names.index("mcp")]
        return replace(server, env={**server.env, SESSION_VARIABLE: session_id}) if ours else server
    if not any(_is_ours(server.url, url) for url in urls):
        return server
    kept = {name: value for name, value in server.headers.items() if name.lower() != SESSION_HEADER}
    return replace(server, headers={**kept, SESSION_HEADER: session_id})


def _is_ours(address: str, url: str) -> bool:
    try:
        given, own = urlsplit(address), urlsplit(url)
        same_port = (given.port or _PORTS.get(given.scheme)) == (own.port or _PORTS.get(own.scheme))
    except ValueError:
        return False
    hosts = {given.hostname, own.hostname}
    path = given.path.rstrip("/")
    same_path = path.startswith(own.path.rstrip("/") + "/") and path.endswith("/mcp")
    return same_port and same_path and (len(hosts) == 1 or hosts <= _LOOPBACK)
