"""Sessions as MCP tools: the daemon's `/mcp`, with the official client and with keys."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from everyagent.api.session_tools import MAX_RUNNING
from everyagent.api.start_limits import StartLimits, StartSettings
from everyagent.errors import RateLimited
from tests.api.keyed import Keyed, keyed
from tests.compat.rows import compat_row
from tests.waiting import LIMIT_SECONDS

row = compat_row("mcp")


pytestmark = pytest.mark.anyio


class Tools:
    """The official MCP client, and results decoded."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, name: str, **arguments: object) -> dict[str, Any]:
        failed, text = await self.outcome(name, **arguments)
        assert not failed, text
        return msgspec.json.decode(text, type=dict[str, Any])

    async def failure(self, name: str, **arguments: object) -> str:
        failed, text = await self.outcome(name, **arguments)
        assert failed, text
        return text

    async def outcome(self, name: str, **arguments: object) -> tuple[bool, str]:
        result = await self.client.call_tool(name, arguments)
        (content,) = result.content
        assert isinstance(content, TextContent)
        return bool(result.is_error), content.text


@asynccontextmanager
async def tools(http: httpx2.AsyncClient) -> AsyncGenerator[Tools]:
    async with Client(streamable_http_client(f"{http.base_url}/mcp", http_client=http)) as client:
        yield Tools(client)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Keyed]:
    (tmp_path / "work").mkdir()
    async with keyed(tmp_path, key_directory=tmp_path / "work") as server:
        yield server


async def test_an_agent_is_driven_from_the_start_to_the_end(server: Keyed, tmp_path: Path) -> None:
    async with tools(await server.owner()) as mine:
        agents = {each["id"]: each for each in (await mine.call("list_agents"))["agents"]}
        assert (agents["mock"]["installed"], "claude" in agents) == (True, True)
        begun = await mine.call(
            "start_session", agent="mock", message="[ask] Finished.", directory=str(tmp_path), title="Child"
        )
        session = begun["session_id"]
        (ask,) = begun["asks"]
        assert (begun["status"], ask["kind"], ask["request"]["tool"]) == ("waiting", "permission", "bash")
        assert "stop_reason" not in begun
        ended = await mine.call("answer_ask", session_id=session, ask_id=ask["ask_id"], reply="once")
        assert (ended["status"], ended["stop_reason"], ended["text"], ended["asks"]) == (
            "idle",
            "end_turn",
            "Finished.",
            [],
        )
        asked = await mine.call("send_message", session_id=session, message="[question]")
        (ask,) = asked["asks"]
        answers = [["Blue"], ["Docs"]]
        ended = await mine.call("answer_ask", session_id=session, ask_id=ask["ask_id"], answers=answers)
        assert ended["text"] == "You answered: Blue; Docs."
        first = await mine.call("read_session", session_id=session, limit=2)
        rest = await mine.call("read_session", session_id=session, after=first["last"])
        items = [*first["items"], *rest["items"]]
        assert (first["more"], rest["more"]) == (True, False)
        assert [item["text"] for item in items if item["kind"] == "tool_result"] == ["permitted\n"]
        listed = await mine.call("list_sessions", agent="mock")
        assert [(each["session_id"], each["title"]) for each in listed["sessions"]] == [(session, "Child")]
        running = await mine.call("send_message", session_id=session, message="[slow seconds=600]", wait_seconds=0)
        assert (running["status"], "stop_reason" in running) == ("running", False)
        assert (await mine.call("cancel_turn", session_id=session))["cancelled"] is True
        assert (await mine.call("wait_for_session", session_id=session))["stop_reason"] == "interrupted"
        await mine.call("end_session", session_id=session)
        assert "ended" in await mine.failure("send_message", session_id=session, message="More")


async def test_mistakes_are_results_that_a_model_can_read(server: Keyed) -> None:
    async with tools(await server.owner()) as mine:
        assert "nobody" in await mine.failure("start_session", agent="nobody", message="x")
        assert "do not fit" in await mine.failure("start_session", agent="mock")
        assert "do not fit" in await mine.failure("wait_for_session", session_id="s", wait_seconds=10_000)
        wrong = {"session_id": "s", "ask_id": "a"}
        refused = await mine.failure("answer_ask", reply="maybe", **wrong)
        assert refused.endswith("'maybe' (at `reply`). Allowed values: once, always, reject.")
        refused = await mine.failure("answer_ask", answer="once", **wrong)
        assert "`answer` (at `answer`). Known fields: session_id, ask_id, reply, " in refused
        for tool in ("wait_for_session", "read_session", "cancel_turn", "end_session"):
            refused = await mine.failure(tool, session_id="none")
            assert refused == "There is no session 'none'. `list_sessions` lists those there are."
        schemas = {tool.name: tool.input_schema for tool in (await mine.client.list_tools()).tools}
        assert schemas["start_session"]["required"] == ["agent", "message"]
        assert all(schema["type"] == "object" for schema in schemas.values())


async def test_only_so_many_started_sessions_run_at_the_same_time(server: Keyed) -> None:
    """Each session that waits for another one runs, so this also limits the depth."""
    async with tools(await server.owner()) as mine:
        begun = [
            await mine.call("start_session", agent="mock", message="[hang]", wait_seconds=0) for _ in range(MAX_RUNNING)
        ]
        assert f"no more than {MAX_RUNNING}" in await mine.failure("start_session", agent="mock", message="x")
        await mine.call("end_session", session_id=begun[0]["session_id"])
        assert (await mine.call("start_session", agent="mock", message="Now"))["stop_reason"] == "end_turn"


async def test_a_chain_of_sessions_that_start_sessions_ends(server: Keyed) -> None:
    """Also if none of them waits for the next one."""
    caller, depth = await server.owner(), StartSettings().depth
    chain: list[str] = []
    for _ in range(depth):
        async with tools(caller) as mine:
            begun = await mine.call("start_session", agent="mock", message="Next", budget_usd=5, wait_seconds=0)
        chain.append(begun["session_id"])
        caller.headers["x-everyagent-session"] = chain[-1]
    async with tools(caller) as last:
        refused = await last.failure("start_session", agent="mock", message="x", wait_seconds=0)
        assert f"agents may start agents {depth} deep" in refused
        for above in chain:
            assert "started by" in await last.failure("send_message", session_id=above, message="Back to you")
    infos = [(await caller.get(f"/v1/sessions/{each}")).json() for each in chain]
    assert [info["metadata"]["everyagent.depth"] for info in infos] == ["1", "2", "3"]
    assert [info["metadata"].get("everyagent.parent") for info in infos] == [None, *chain[:-1]]
    assert {info["budgetUsd"] for info in infos} == {5}


async def test_a_started_session_has_the_servers_budget(server: Keyed) -> None:
    owner = await server.owner()
    async with tools(owner) as mine:
        for asked in ({}, {"budget_usd": 1000}):
            begun = await mine.call("start_session", agent="mock", message="x", **asked)
            info = (await owner.get(f"/v1/sessions/{begun['session_id']}")).json()
            assert info["budgetUsd"] == StartSettings().budget_usd


async def test_sessions_that_got_a_message_count_as_running(server: Keyed) -> None:
    owner = await server.owner()
    async with tools(owner) as mine:
        for _ in range(MAX_RUNNING):
            made = (await owner.post("/v1/sessions", json={"agent": "mock"})).json()["sessionId"]
            await mine.call("send_message", session_id=made, message="[hang]", wait_seconds=0)
        assert f"no more than {MAX_RUNNING}" in await mine.failure("start_session", agent="mock", message="x")


async def test_a_session_whose_message_was_refused_does_not_count_as_running(server: Keyed) -> None:
    owner = await server.owner()
    async with tools(owner) as mine:
        begun = [
            await mine.call("start_session", agent="mock", message="[hang]", wait_seconds=0) for _ in range(MAX_RUNNING)
        ]
        made = (await owner.post("/v1/sessions", json={"agent": "mock"})).json()["sessionId"]
        refused = await mine.failure("send_message", session_id=made, message="x")
        assert f"no more than {MAX_RUNNING}" in refused
        assert (await owner.post(f"/v1/sessions/{made}/messages", json={"message": "[hang]"})).is_success
        await mine.call("end_session", session_id=begun[0]["session_id"])
        assert (await mine.call("start_session", agent="mock", message="Now"))["stop_reason"] == "end_turn"


async def test_starts_are_limited_by_the_minute_and_by_the_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    limits = StartLimits(StartSettings(per_hour=30))
    started = 0
    for minute in range(4):
        now = 60.0 * minute
        for _ in range(25):
            try:
                limits.start("one")
            except RateLimited:
                continue
            started += 1
    assert 30 <= started <= 33
    limits.start("two")


async def test_a_workspace_does_not_wait_for_another_one() -> None:
    limits = StartLimits(StartSettings())
    async with limits.lock("one"):
        with anyio.fail_after(LIMIT_SECONDS):
            async with limits.lock("two"):
                assert limits.lock("one").locked()


async def test_a_key_needs_the_scope_of_each_tool(server: Keyed) -> None:
    _, reading = await server.key("one", "read")
    _, running = await server.key("one", "read", "run")
    _, other = await server.key("two")
    async with tools(reading) as reader, tools(running) as runner, tools(other) as stranger:
        assert "`run`" in await reader.failure("start_session", agent="mock", message="x")
        begun = await runner.call("start_session", agent="mock", message="[ask]")
        session, (ask,) = begun["session_id"], begun["asks"]
        assert "`answer`" in await runner.failure("answer_ask", session_id=session, ask_id=ask["ask_id"], reply="once")
        assert (await reader.call("wait_for_session", session_id=session))["status"] == "waiting"
        assert str(session) in await stranger.failure("read_session", session_id=session)
        assert (await stranger.call("list_sessions"))["sessions"] == []
        assert "below it" in await runner.failure("start_session", agent="mock", message="x", directory="/")


async def test_a_key_without_budget_starts_nothing(server: Keyed) -> None:
    _, poor = await server.key("one", "read", "run", budgetUsd=0)
    async with tools(poor) as mine:
        assert "budget" in await mine.failure("start_session", agent="mock", message="x")
        assert (await mine.call("list_sessions"))["sessions"] == []


async def test_without_a_token_there_are_no_tools(server: Keyed) -> None:
    nobody = await server.client("wrong")
    assert (await nobody.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).status_code == 401
