"""The MCP endpoint of a session: protocol revisions, batches, errors, and the official client."""

import json

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from everyagent.api.mcp_server import HANDSHAKE, MAX_BATCH, REVISIONS, STATELESS
from tests.api.served import Served
from tests.compat.rows import compat_row

row = compat_row("mcp")


pytestmark = pytest.mark.anyio
PATH = "/v1/sessions/s/mcp"


def request(method: str, number: int | None = 1, **params: object) -> dict[str, object]:
    numbered = {} if number is None else {"id": number}
    return {"jsonrpc": "2.0", "method": method, "params": params, **numbered}


async def post(served: Served, body: object, revision: str | None = None) -> httpx2.Response:
    headers = {} if revision is None else {"mcp-protocol-version": revision}
    if "s" not in served.sessions.bodies:
        served.sessions.add("s")
    return await served.client.post(PATH, json=body, headers=headers)


@pytest.mark.parametrize("mode", ["auto", "legacy", STATELESS])
async def test_the_official_client_lists_and_calls_tools(served: Served, mode: str) -> None:
    served.sessions.add("s")
    async with (
        httpx2.AsyncClient(headers={"authorization": "Bearer tools of s"}) as http,
        Client(streamable_http_client(f"http://127.0.0.1:{served.port}{PATH}", http_client=http), mode=mode) as client,
    ):
        assert [tool.name for tool in (await client.list_tools()).tools] == ["get_weather"]
        result = await client.call_tool("get_weather", {"city": "Oslo"})
        assert result.content == [TextContent(type="text", text="get_weather of {'city': 'Oslo'}")]
        assert client.protocol_version == (HANDSHAKE[0] if mode == "legacy" else STATELESS)


async def test_an_unknown_protocol_version_is_refused_with_those_that_work(served: Served) -> None:
    answer = await post(served, request("tools/list"), "1999-01-01")
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["data"]) == (-32022, {"supported": list(REVISIONS), "requested": "1999-01-01"})


async def test_initialize_agrees_on_the_newest_common_version(served: Served) -> None:
    for asked, agreed in [("2025-03-26", "2025-03-26"), ("2999-01-01", HANDSHAKE[0]), (STATELESS, HANDSHAKE[0])]:
        answer = await post(served, request("initialize", protocolVersion=asked))
        assert answer.json()["result"]["protocolVersion"] == agreed


async def test_an_unknown_tool_is_a_protocol_error(served: Served) -> None:
    answer = await post(served, request("tools/call", name="none", arguments={}), "2025-06-18")
    assert answer.status_code == 200
    assert answer.json()["error"]["code"] == -32602
    assert "get_weather" in answer.json()["error"]["message"]


async def test_the_stateless_revision_maps_errors_to_statuses(served: Served) -> None:
    assert (await post(served, request("initialize"), STATELESS)).status_code == 404
    assert (await post(served, request("tools/call", name="none"), STATELESS)).status_code == 400
    listed = await post(served, request("tools/list"), STATELESS)
    assert listed.json()["result"]["resultType"] == "complete"


async def test_a_batch_is_answered_in_its_order(served: Served) -> None:
    body = [request("ping", 7), request("notifications/initialized", None), request("tools/list", 8), request("no", 9)]
    for revision in (None, "2025-03-26"):
        answers = (await post(served, body, revision)).json()
        assert [answer["id"] for answer in answers] == [7, 8, 9]
        assert answers[2]["error"]["code"] == -32601
    assert (await post(served, [request("notifications/initialized", None)])).status_code == 202


@pytest.mark.parametrize(
    ("body", "revision"),
    [
        ([request("ping")], "2025-06-18"),
        ([], None),
        ([request("ping", n) for n in range(MAX_BATCH + 1)], None),
        ({"jsonrpc": "1.0", "method": "ping", "id": 1}, None),
        (5, None),
    ],
)
async def test_an_invalid_request_is_refused(served: Served, body: object, revision: str | None) -> None:
    answer = await post(served, body, revision)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"params":{"a":' + b"[" * 50_000])
async def test_a_body_that_is_not_json_is_refused(served: Served, body: bytes) -> None:
    served.sessions.add("s")
    answer = await served.client.post(PATH, content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)
    assert json.loads(answer.content)["id"] is None
