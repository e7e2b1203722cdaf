"""Invalid requests get a problem that names the reason and the field."""

import errno

import httpx2
import pytest

from everyagent import logs
from everyagent.errors import StorageFull
from tests.api.served import Served

JSON = {"content-type": "application/json"}


def problem(response: httpx2.Response, status: int, code: str) -> dict[str, object]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, object] = response.json()
    assert body["type"] == f"urn:everyagent:error:{code}"
    assert (body["status"], body["code"]) == (status, code)
    assert body["request_id"] == response.headers["x-request-id"]
    assert body["title"]
    assert body["detail"]
    return body


async def test_an_unknown_session_is_404(served: Served) -> None:
    assert problem(await served.client.get("/v1/sessions/nobody"), 404, "session_not_found")["sessionId"] == "nobody"


async def test_an_id_that_is_taken_is_409(served: Served) -> None:
    served.sessions.add("mine")
    problem(await served.client.post("/v1/sessions/mine"), 409, "session_already_exists")


async def test_an_unknown_agent_is_400_and_lists_the_known_ones(served: Served) -> None:
    refused = problem(await served.client.post("/v1/sessions", json={"agent": "hal"}), 400, "unsupported_agent")
    assert refused["agents"] == ["mock"]
    problem(await served.client.get("/v1/agents/hal/models"), 400, "unsupported_agent")


@pytest.mark.parametrize(
    "body", [b"{", b"nonsense", b'{"a":1} x', b'"\xff"', b'{"title":"\\ud800"}', b"\xef\xbb\xbf{}"]
)
async def test_a_body_that_is_not_json_is_400(served: Served, body: bytes) -> None:
    refused = problem(await served.client.post("/v1/sessions", content=body, headers=JSON), 400, "invalid_request")
    assert "JSON" in str(refused["detail"]) or "Invalid body" in str(refused["detail"])


async def test_a_body_nested_too_deeply_is_400(served: Served) -> None:
    deep = b'{"tools":[{"name":"t","inputSchema":{"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}}]}"
    problem(await served.client.post("/v1/sessions", content=deep, headers=JSON), 400, "invalid_request")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": 3}, "title"),
        ({"env": {"FINE": "", "A": 1}}, 'env["A"]'),
        ({"mcp": {"x": {"type": "local"}}}, 'mcp["x"].command'),
        ({"colour": "red"}, "colour"),
        ({"mcp": {"x": {"type": "local", "command": [], "colour": 1}}}, 'mcp["x"].colour'),
        ({"tools": [{"name": "t"}, {"name": 7}]}, "tools[1].name"),
    ],
)
async def test_a_wrong_type_or_an_unknown_field_is_400_that_names_it(
    served: Served, body: dict[str, object], field: str
) -> None:
    refused = problem(await served.client.post("/v1/sessions", json=body), 400, "invalid_request")
    assert refused["field"] == field
    assert field in str(refused["detail"])


@pytest.mark.parametrize(
    ("body", "field", "allowed"),
    [
        ({"lifetime": "long"}, "lifetime", "Allowed values: open, process, turn."),
        (
            {"toolPolicies": {"mcp": {"fine": {}, "docs": {"tools": {"get": "maybe"}}}}},
            'toolPolicies.mcp["docs"].tools["get"]',
            "Allowed values: allow, ask, deny, auto.",
        ),
        ({"mcp": {"x": {"type": "radio"}}}, 'mcp["x"].type', "Allowed values: local, stdio, remote, http."),
        ({"limits": {"colour": 1}}, "limits.colour", "Known fields: memory,"),
        (
            {"mcp": {"x": {"type": "local", "command": ["a"], "url": ""}}},
            'mcp["x"].url',
            "Known fields: type, command,",
        ),
    ],
)
async def test_a_wrong_choice_or_an_unknown_field_lists_the_known_ones(
    served: Served, body: dict[str, object], field: str, allowed: str
) -> None:
    refused = problem(await served.client.post("/v1/sessions", json=body), 400, "invalid_request")
    assert refused["field"] == field
    assert f"(at `{field}`). {allowed}" in str(refused["detail"])


@pytest.mark.parametrize(
    "body",
    [
        {"lifetime": "long" * 10_000},
        {"lifetime": "Object contains unknown field `a` - at `$.mcp[...]`"},
        {"k" * 50_000: 1},
        {"env": {"A`$.b[...]" * 5_000: 1}},
        {"env": {f"K{number}": "" for number in range(4_000)} | {"LAST": []}},
        {"mcp": {"x": {"type": ["deep", {}], "command": 1}}},
    ],
)
async def test_the_error_of_a_hostile_body_is_short(served: Served, body: dict[str, object]) -> None:
    refused = problem(await served.client.post("/v1/sessions", json=body), 400, "invalid_request")
    assert len(str(refused["detail"])) < 1_500


async def test_a_missing_field_is_400_that_names_it(served: Served) -> None:
    served.sessions.add("mine")
    refused = problem(await served.client.post("/v1/sessions/mine/messages", json={}), 400, "invalid_request")
    assert refused["field"] == "message"


async def test_a_body_that_is_no_object_is_400(served: Served) -> None:
    problem(await served.client.post("/v1/sessions", json=[]), 400, "invalid_request")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=many", "limit"),
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=2", "limit"),
        ("status=asleep", "status"),
        ("colour=red", "colour"),
        ("page=%F0", "page"),
    ],
)
async def test_a_wrong_query_parameter_is_400_that_names_it(served: Served, query: str, field: str) -> None:
    refused = problem(await served.client.get(f"/v1/sessions?{query}"), 400, "invalid_request")
    assert refused.get("field", field) == field


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("?status=runing", "Allowed values: idle, running, waiting, "),
        ("/mine/export?format=pdf", "Allowed values: markdown, html, "),
    ],
)
async def test_a_wrong_choice_in_a_query_lists_the_allowed_ones(served: Served, path: str, allowed: str) -> None:
    served.sessions.add("mine")
    refused = problem(await served.client.get(f"/v1/sessions{path}"), 400, "invalid_request")
    assert allowed in str(refused["detail"])


async def test_an_unknown_event_type_is_400(served: Served) -> None:
    served.sessions.add("mine")
    for types in ("item.eaten", "error,item.eaten", ""):
        response = await served.client.get(f"/v1/sessions/mine/events?types={types}")
        assert problem(response, 400, "invalid_request")["field"] == "types"


async def test_query_parameters_may_be_spelled_in_either_way(served: Served) -> None:
    served.sessions.add("mine")
    for spelling in ("include_raw=true", "includeRaw=true", "types=error,item.delta", "types=error&types=item.delta"):
        assert (await served.client.get(f"/v1/sessions/mine/events?{spelling}")).status_code == 200


@pytest.mark.parametrize("spelling", ["include_raw", "includeRaw"])
async def test_an_error_names_the_query_parameter_as_it_was_sent(served: Served, spelling: str) -> None:
    served.sessions.add("mine")
    for query in (f"{spelling}=perhaps", f"{spelling}=true&{spelling}=true"):
        refused = problem(await served.client.get(f"/v1/sessions/mine/events?{query}"), 400, "invalid_request")
        assert refused["field"] == spelling
        assert f"`{spelling}`" in str(refused["detail"])


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_that_is_too_large_is_413(served: Served, announced: bool) -> None:
    async def pieces():
        for _ in range(100):
            yield b" " * 1024

    content = b" " * 100 * 1024 if announced else pieces()
    refused = problem(await served.client.post("/v1/sessions", content=content, headers=JSON), 413, "too_large")
    assert refused["limit"] == 64 * 1024


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
async def test_a_body_without_a_json_content_type_is_415(served: Served, media: str | None) -> None:
    headers = {"content-type": media} if media else {}
    problem(await served.client.post("/v1/sessions", content=b"{}", headers=headers), 415, "unsupported_media_type")


async def test_an_empty_body_is_accepted_if_every_field_has_a_default(served: Served) -> None:
    assert (await served.client.post("/v1/sessions")).status_code == 200


async def test_an_unknown_path_is_404_and_a_wrong_method_405_with_allow(served: Served) -> None:
    problem(await served.client.get("/v1/nothing"), 404, "not_found")
    problem(await served.client.get("/v1/sessions/"), 404, "not_found")
    response = await served.client.put("/v1/sessions/mine")
    problem(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "DELETE, GET, HEAD, PATCH, POST"


async def test_head_is_get_without_the_body(served: Served) -> None:
    response = await served.client.head("/v1/health")
    assert (response.status_code, response.content) == (200, b"")


async def test_a_message_to_an_ended_session_is_409(served: Served) -> None:
    served.sessions.add("over", ended=True)
    problem(await served.client.post("/v1/sessions/over/messages", json={"message": "hi"}), 409, "session_ended")


async def test_a_second_answer_is_409_with_the_first_answer(served: Served) -> None:
    served.sessions.add("mine")
    served.sessions.ask("mine", "perm_1")
    url = "/v1/sessions/mine/permissions/perm_1/reply"
    assert (await served.client.post(url, json={"reply": "once"})).status_code == 204
    refused = problem(await served.client.post(url, json={"reply": "reject"}), 409, "ask_closed")
    assert refused["firstAnswer"] == {"kind": "permission", "reply": "once"}


async def test_a_full_disk_is_507(served: Served) -> None:
    served.sessions.failure = StorageFull("The disk is full.")
    response = await served.client.post("/v1/sessions")
    problem(response, 507, "storage_full")
    assert response.headers["retry-after"]


async def test_a_fault_of_the_daemon_is_a_500_without_internal_details(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.set_up("json")
    served.sessions.failure = RuntimeError("a secret inside")
    response = await served.client.post("/v1/sessions")
    refused = problem(response, 500, "internal")
    assert "secret" not in response.text
    logged = capsys.readouterr().err
    assert "a secret inside" in logged
    assert str(refused["request_id"]) in logged


@pytest.mark.parametrize("offset", ["4", "-1", "99999999999999999999"])
async def test_an_offset_outside_the_log_is_400(served: Served, offset: str) -> None:
    served.sessions.add("mine", count=3)
    for path in ("events", "events/sse"):
        response = await served.client.get(f"/v1/sessions/mine/{path}?offset={offset}")
        assert response.status_code == 400


async def test_an_integer_of_thousands_of_digits_is_400(served: Served) -> None:
    for body in (b'{"limit":%b}', b'{"tools":[{"name":"t","inputSchema":{"a":%b}}]}', b'{"title":%b}'):
        response = await served.client.post("/v1/sessions", content=body % (b"7" * 5000), headers=JSON)
        problem(response, 400, "invalid_request")


async def test_a_full_disk_is_507_wherever_it_is_met(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(served.sessions, "get", full, raising=False)
    problem(await served.client.get("/v1/sessions/mine"), 507, "storage_full")
