"""The daemon's own MCP server in a session names the session that uses it."""

import pytest

from everyagent.model.tools import McpLocal, McpRemote
from everyagent.sessions.launch.named_callers import named

URL = "http://127.0.0.1:2468"


@pytest.mark.parametrize("command", [["everyagent", "mcp"], ["/opt/bin/everyagent", "mcp", "--url", URL]])
def test_the_command_gets_a_variable(command: list[str]) -> None:
    server = named({"a": McpLocal(command=command, env={"A": "b"})}, "sess_1", URL)["a"]
    assert isinstance(server, McpLocal)
    assert server.env == {"A": "b", "EVERYAGENT_MCP_SESSION": "sess_1"}


@pytest.mark.parametrize("url", [f"{URL}/mcp", "http://localhost:2468/mcp/"])
def test_the_address_gets_a_header_that_replaces_any_other(url: str) -> None:
    headers = {"Authorization": "Bearer k", "X-Everyagent-Session": "sess_2"}
    server = named({"a": McpRemote(url=url, headers=headers)}, "sess_1", URL)["a"]
    assert isinstance(server, McpRemote)
    assert server.headers == {"Authorization": "Bearer k", "x-everyagent-session": "sess_1"}


def test_other_servers_stay_as_they_are() -> None:
    others = {
        "local": McpLocal(command=["mcp", "everyagent"]),
        "remote": McpRemote(url="https://example.org/mcp"),
        "port": McpRemote(url="http://127.0.0.1:1/mcp"),
        "broken": McpRemote(url="http://[::1:x/mcp"),
    }
    assert named(others, "sess_1", URL) == others
