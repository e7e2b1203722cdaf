"""Custom tools: the agent calls them over MCP, the client answers over the API."""

from pathlib import Path

import anyio
import httpx2
import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.waiting import LIMIT_SECONDS

pytestmark = pytest.mark.anyio


async def test_a_custom_tool_is_called_by_the_agent_and_answered_by_the_client(tmp_path: Path) -> None:
    daemon = DaemonProcess(tmp_path / "data")
    daemon.start()
    try:
        async with httpx2.AsyncClient(base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS) as client:
            tools = [{"name": "get_weather", "description": "The weather.", "inputSchema": {"type": "object"}}]
            body = {"agent": "mock", "directory": str(tmp_path), "tools": tools}
            assert (await client.post("/v1/sessions/s", json=body)).json()["tools"] == ["get_weather"]
            prompt = '[custom name=get_weather input={"city":"Oslo"}] [custom name=unknown]'
            await client.post("/v1/sessions/s/messages", json={"message": prompt})
            with anyio.fail_after(LIMIT_SECONDS):
                while not (asks := (await client.get("/v1/sessions/s/asks")).json()["asks"]):
                    await anyio.sleep(0.02)
            (ask,) = asks
            assert (ask["kind"], ask["request"]["name"], ask["request"]["input"]) == (
                "tool",
                "get_weather",
                {"city": "Oslo"},
            )
            reply = await client.post(f"/v1/sessions/s/tools/{ask['askId']}/reply", json={"output": "Rain, 4 degrees"})
            assert reply.status_code == 204
            with anyio.fail_after(LIMIT_SECONDS):
                while (await client.get("/v1/sessions/s")).json()["status"] != "idle":
                    await anyio.sleep(0.02)
            events = (await client.get("/v1/sessions/s/events")).text
            assert "Rain, 4 degrees" in events
            assert "no tool unknown" in events
            foreign = await client.post(
                "/v1/sessions/s/mcp",
                headers={"authorization": "Bearer of another session"},
                json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
            )
            assert foreign.status_code == 401
    finally:
        daemon.stop()
