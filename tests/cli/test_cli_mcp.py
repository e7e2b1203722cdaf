"""`everyagent mcp`: the daemon's tools on stdin and stdout, with the official MCP client."""

import subprocess
from pathlib import Path

import msgspec
import pytest
from command_line import COMMAND, Daemon, environment
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent
from tests.compat.rows import compat_row
from tests.waiting import LIMIT_SECONDS

row = compat_row("mcp")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_drives_a_session(mode: str, daemon: Daemon, tmp_path: Path) -> None:
    server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "mcp"], env=environment(daemon.data_dir))
    async with Client(stdio_client(server), mode=mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"start_session", "send_message", "wait_for_session", "answer_ask"} <= set(names)
        task = {"agent": "mock", "message": "Over stdio", "directory": str(tmp_path)}
        (content,) = (await client.call_tool("start_session", task)).content
        assert isinstance(content, TextContent)
        assert msgspec.json.decode(content.text)["text"] == "Over stdio"


async def test_the_session_of_the_agent_is_named_to_the_daemon(daemon: Daemon, tmp_path: Path) -> None:
    given = environment(daemon.data_dir) | {"EVERYAGENT_MCP_SESSION": "sess_none"}
    server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "mcp"], env=given)
    async with Client(stdio_client(server)) as client:
        task = {"agent": "mock", "message": "x", "directory": str(tmp_path)}
        (content,) = (await client.call_tool("start_session", task)).content
    assert isinstance(content, TextContent)
    assert "There is no session 'sess_none'" in content.text


def test_bad_lines_are_answered_and_the_next_one_is_read(daemon: Daemon) -> None:
    lines = [
        b"{",
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fly"}}',
        b'{"jsonrpc":"2.0","id":2,"method":"ping"}',
    ]
    done = subprocess.run(
        [*COMMAND, "mcp"],
        input=b"\n".join(lines) + b"\n",
        env=environment(daemon.data_dir),
        capture_output=True,
        timeout=LIMIT_SECONDS,
        check=True,
    )
    answers = {answer["id"]: answer for answer in map(msgspec.json.decode, done.stdout.splitlines())}
    assert {number: answer.get("error", {}).get("code") for number, answer in answers.items()} == {
        None: -32700,
        1: -32602,
        2: None,
    }


def test_a_wrong_token_is_refused_at_the_start(daemon: Daemon) -> None:
    ask = b'{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n'
    words = ["mcp", "--url", daemon.url, "--token", "wrong"]
    done = subprocess.run(
        [*COMMAND, *words], input=ask, env=environment(daemon.data_dir), capture_output=True, timeout=LIMIT_SECONDS
    )
    assert (done.returncode, b"token" in done.stderr) == (1, True)
