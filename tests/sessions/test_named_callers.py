"""The daemon's own MCP server in a session names the session that uses it."""

from pathlib import Path

import pytest

from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.model.sessions import CreateSession
from everyagent.model.tools import McpLocal, McpRemote
from everyagent.sessions.launch.named_callers import named
from everyagent.sessions.limits import Limits

URL = "http://127.0.0.1:2468"
URLS = [URL, "https://agents.example.org/daemon/"]


@pytest.mark.parametrize("command", [["everyagent", "mcp"], ["/opt/bin/everyagent", "mcp", "--url", URL]])
def test_the_command_gets_a_variable(command: list[str]) -> None:
    server = named({"a": McpLocal(command=command, env={"A": "b"})}, "sess_1", URLS)["a"]
    assert isinstance(server, McpLocal)
    assert server.env == {"A": "b", "EVERYAGENT_MCP_SESSION": "sess_1"}


@pytest.mark.parametrize(
    "url",
    [
        f"{URL}/mcp",
        "http://localhost:2468/mcp/",
        "https://agents.example.org/daemon/mcp",
        "https://agents.example.org:443/daemon/mcp",
    ],
)
def test_the_address_gets_a_header_that_replaces_any_other(url: str) -> None:
    headers = {"Authorization": "Bearer k", "X-Everyagent-Session": "sess_2"}
    server = named({"a": McpRemote(url=url, headers=headers)}, "sess_1", URLS)["a"]
    assert isinstance(server, McpRemote)
    assert server.headers == {"Authorization": "Bearer k", "x-everyagent-session": "sess_1"}


def test_other_servers_stay_as_they_are() -> None:
    others = {
        "local": McpLocal(command=["mcp", "everyagent"]),
        "remote": McpRemote(url="https://example.org/mcp"),
        "another path": McpRemote(url="https://agents.example.org/mcp"),
        "port": McpRemote(url="http://127.0.0.1:1/mcp"),
        "broken": McpRemote(url="http://[::1:x/mcp"),
    }
    assert named(others, "sess_1", URLS) == others


@pytest.mark.anyio
async def test_a_session_has_its_name_at_both_addresses_of_the_daemon(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, public_url="https://agents.example.org")
    servers = {"here": f"{URL}/mcp", "there": "https://agents.example.org/mcp"}
    async with sessions_of(settings, limits=Limits(), url=URL) as sessions:
        request = CreateSession(agent="mock", mcp={name: McpRemote(url=url) for name, url in servers.items()})
        await sessions.create("one", request)
        launch = await sessions._launcher.launch_for(await sessions._log.session("one"))
    marked = {name: server.headers for name, server in launch.mcp.items() if isinstance(server, McpRemote)}
    assert marked == {name: {"x-everyagent-session": "one"} for name in servers}
