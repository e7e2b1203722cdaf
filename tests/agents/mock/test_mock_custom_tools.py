"""Custom tools that the mock agent calls over MCP, served by a fake server in a thread."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from anyio import to_thread
from mock_stage import Stage, stage

from everyagent.model.events import TurnEnded
from everyagent.model.parts import ToolResultPart
from everyagent.model.tools import CustomTool


class Tools(ThreadingHTTPServer):
    daemon_threads = True
    streaming = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str | None, dict[str, object]]] = []
        self.called = threading.Event()
        self.release = threading.Event()
        self.release.set()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Tools  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.headers["authorization"], message))
        if message["method"] == "initialize":
            self._reply(message, {"protocolVersion": "2025-06-18", "capabilities": {}})
        elif message["method"] == "tools/call":
            self.server.called.set()
            self.server.release.wait(30)
            city = message["params"]["arguments"].get("city")
            text = f"Sun in {city}" if city else "Which city?"
            self._reply(message, {"content": [{"type": "text", "text": text}], "isError": not city})
        else:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()

    def _reply(self, message: dict[str, object], result: dict[str, object]) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        if self.server.streaming:
            body = b": wait\n\nevent: message\ndata: " + body + b"\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if self.server.streaming else "application/json")
        self.send_header("mcp-session-id", "m1")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def tools() -> Iterator[Tools]:
    server = Tools()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    server.server_close()
    thread.join()


def weather(tools: Tools) -> dict[str, object]:
    url = f"http://127.0.0.1:{tools.server_address[1]}/mcp/s"
    return {"tools": [CustomTool(name="get_weather")], "tools_url": url, "tools_token": "tok"}


def result(on: Stage) -> ToolResultPart:
    part = on.listener.items("tool_result")[0].content[0]
    assert isinstance(part, ToolResultPart)
    return part


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_custom_tool_is_called_with_the_sessions_token(tmp_path: Path, tools: Tools, streaming: bool) -> None:
    tools.streaming = streaming
    async with stage(tmp_path, **weather(tools)) as on:
        await on.turn('[custom name=get_weather input={"city":"Oslo"}]')
        assert (result(on).output, result(on).is_error) == ("Sun in Oslo", False)
    assert {token for token, _ in tools.seen} == {"Bearer tok"}
    assert [message["method"] for _, message in tools.seen] == ["initialize", "notifications/initialized", "tools/call"]


async def test_a_failing_custom_tool_is_a_failed_result(tmp_path: Path, tools: Tools) -> None:
    async with stage(tmp_path, **weather(tools)) as on:
        await on.turn("[custom]")
        assert (result(on).output, result(on).is_error) == ("Which city?", True)


async def test_an_unknown_custom_tool_is_a_failed_result_with_a_reason(tmp_path: Path, tools: Tools) -> None:
    async with stage(tmp_path, **weather(tools)) as on:
        await on.turn("[custom name=fly]")
        assert result(on).output == "This session has no tool fly. It has: get_weather."
        assert result(on).is_error


async def test_an_unreachable_tool_server_is_a_failed_result(tmp_path: Path) -> None:
    async with stage(tmp_path, tools=[CustomTool(name="fly")], tools_url="http://127.0.0.1:1/") as on:
        await on.turn("[custom name=fly]")
        assert "cannot be reached" in result(on).output


async def test_an_interrupt_stops_a_custom_tool_call(tmp_path: Path, tools: Tools) -> None:
    tools.release.clear()
    async with stage(tmp_path, **weather(tools)) as on:
        await on.say("[custom]")
        await on.listener.until(lambda: on.listener.items("tool_call") or None)
        await to_thread.run_sync(tools.called.wait, 30)
        await on.conversation.interrupt()
        assert (await on.listener.next(TurnEnded)).stop_reason == "interrupted"
