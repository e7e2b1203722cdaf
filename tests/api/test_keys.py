"""API keys: scopes, revocation, expiry, rates, budgets, the audit trail, and the owner's token."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import anyio
import httpx2
import pytest

from everyagent.access.token_bucket import PeerLimits
from everyagent.api.access_control import WRONG_TOKENS
from everyagent.api.managed.routes import ROUTES as MANAGED
from everyagent.api.openapi import describe
from everyagent.api.routes import ROUTES as UNIVERSAL
from everyagent.log.log import Charge
from everyagent.model.principals import SCOPES
from tests.api.keyed import Keyed, keyed
from tests.api.served import TOKEN
from tests.waiting import LIMIT_SECONDS

#: Routes that every valid token may use.
UNSCOPED = {"health", "ready", "healthz", "show_identity", "openapi", "schema", "managed_openapi"} | {
    *("connect_runner", "take_callback", "take_ping"),  # signed
}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Keyed]:
    async with keyed(tmp_path) as server:
        yield server


async def _session(client: httpx2.AsyncClient, folder: Path, name: str = "one") -> None:
    made = await client.post(f"/v1/sessions/{name}", json={"agent": "mock", "directory": str(folder)})
    assert made.status_code == 200, made.text


async def _ends(client: httpx2.AsyncClient, path: str, then: Callable[[], Awaitable[object]]) -> None:
    """Opens a stream, does something, and waits until the server has ended the stream."""
    with anyio.fail_after(LIMIT_SECONDS):
        async with client.stream("GET", path) as response:
            assert response.status_code == 200
            await then()
            async for _ in response.aiter_bytes():
                continue


def test_every_route_declares_its_scope() -> None:
    for route in (*UNIVERSAL, *MANAGED):
        assert set(route.scopes) <= set(SCOPES), route.path
        assert bool(route.scopes) != (route.name in UNSCOPED), route.name
        reads = route.method == "GET" and route.name != "poll_work"
        assert "run" not in route.scopes or not reads, route.path
        document = describe([route], "1")["paths"]
        assert isinstance(document, dict)
        ((_, operations),) = document.items()
        security = operations[route.method.lower()].get("security")
        assert [needed for each in security or [] for needed in each.get("bearer", [])] == [*route.scopes]


async def test_a_key_without_a_scope_gets_a_403_that_names_it(server: Keyed, tmp_path: Path) -> None:
    owner = await server.owner()
    await _session(owner, tmp_path)
    for scope, method, path, body in (
        ("read", "GET", "/v1/sessions", None),
        ("run", "POST", "/v1/sessions/one/messages", {"message": "x"}),
        ("answer", "POST", "/v1/sessions/one/permissions/p/reply", {"reply": "once"}),
        ("admin", "GET", "/v1/keys", None),
        ("admin", "GET", "/v1/audit", None),
    ):
        others = [other for other in SCOPES if other not in (scope, "admin")]
        _, client = await server.key("default", *others)
        refused = await client.request(method, path, json=body)
        assert refused.status_code == 403
        assert refused.headers["content-type"] == "application/problem+json"
        assert (refused.json()["code"], refused.json()["requiredScope"]) == ("scope_missing", scope)
        assert f"`{scope}`" in refused.json()["detail"]
    _, runner = await server.key("default", "run")
    confirmation = {"type": "user.tool_confirmation", "tool_use_id": "x", "result": "allow"}
    refused = await runner.post("/anthropic/v1/sessions/sesn_x/events", json={"events": [confirmation]})
    assert (refused.status_code, refused.json()["error"]["details"]["requiredScope"]) == (403, "answer")


async def test_a_secret_is_shown_once_and_stored_hashed(server: Keyed, tmp_path: Path) -> None:
    owner = await server.owner()
    made = (await owner.post("/v1/keys", json={"name": "ci", "scopes": ["read"]})).json()
    assert made["secret"] not in (await owner.get("/v1/keys")).text
    client = await server.client(made["secret"])
    assert (await client.get("/v1/me")).json() == {
        "keyId": made["key"]["keyId"], "name": "ci", "workspace": "default", "scopes": ["read"], "expiresAt": None,
        "signIn": False,
    }  # fmt: skip
    for file in (tmp_path / "data").rglob("*"):
        assert not file.is_file() or made["secret"].encode() not in file.read_bytes()


async def test_a_revoked_key_is_refused_at_once_and_its_streams_end(server: Keyed) -> None:
    owner = await server.owner()
    key_id, client = await server.key("red", "read")
    other_id, other = await server.key("red", "read")
    await _ends(client, "/v1/events/sse", lambda: owner.delete(f"/v1/keys/{key_id}"))
    assert (await client.get("/v1/sessions")).status_code == 401
    assert (await other.get("/v1/sessions")).status_code == 200
    listed = {key["keyId"]: key["revokedAt"] for key in (await owner.get("/v1/keys")).json()["keys"]}
    assert listed[key_id] is not None
    assert listed[other_id] is None


async def test_an_expired_key_is_refused_and_its_streams_end(server: Keyed) -> None:
    soon = int(time.time() * 1000) + 1500
    _, client = await server.key("red", "read", expiresAt=soon)
    await _ends(client, "/v1/events/sse", anyio.lowlevel.checkpoint)
    assert time.time() * 1000 >= soon
    assert (await client.get("/v1/sessions")).status_code == 401
    owner = await server.owner()
    late = await owner.post("/v1/keys", json={"name": "late", "scopes": ["read"], "expiresAt": 5})
    assert late.status_code == 400


async def test_keys_survive_a_restart_and_so_does_their_revocation(tmp_path: Path) -> None:
    async with keyed(tmp_path) as server:
        gone, _ = await server.key("red", "read")
        await (await server.owner()).delete(f"/v1/keys/{gone}")
        kept = await (await server.owner()).post("/v1/keys", json={"name": "kept", "scopes": ["read"]})
    async with keyed(tmp_path) as server:
        client = await server.client(kept.json()["secret"])
        assert (await client.get("/v1/sessions")).status_code == 200
        assert [key["revokedAt"] is None for key in (await (await server.owner()).get("/v1/keys")).json()["keys"]] == [
            True, False
        ]  # fmt: skip


async def test_an_admin_manages_the_keys_of_its_workspace_only(server: Keyed) -> None:
    red_id, red = await server.key("red", "admin")
    blue_id, _ = await server.key("blue", "read")
    assert [key["keyId"] for key in (await red.get("/v1/keys")).json()["keys"]] == [red_id]
    assert (await red.delete(f"/v1/keys/{blue_id}")).status_code == 404
    made = await red.post("/v1/keys", json={"name": "x", "scopes": ["read"]})
    assert made.json()["key"]["workspace"] == "red"
    wrong = await red.post("/v1/keys", json={"name": "x", "scopes": ["read"], "workspace": "blue"})
    assert wrong.status_code == 400


async def test_requests_over_the_rate_are_429_with_retry_after(server: Keyed) -> None:
    _, client = await server.key("red", "read", rate=3)
    answers = [await client.get("/v1/sessions") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert 1 <= int(answers[3].headers["retry-after"]) <= 20
    _, other = await server.key("red", "read")
    assert (await other.get("/v1/sessions")).status_code == 200


async def test_wrong_tokens_are_throttled_but_a_right_one_never_is(
    server: Keyed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everyagent.api.access_control.time", SimpleNamespace(monotonic=lambda: 0.0))
    stranger, owner = await server.client("wrong"), await server.owner()
    statuses = [(await stranger.get("/v1/sessions")).status_code for _ in range(WRONG_TOKENS + 5)]
    assert statuses[:WRONG_TOKENS] == [401] * WRONG_TOKENS
    assert statuses[WRONG_TOKENS:] == [429] * 5
    refused = await stranger.get("/v1/sessions")
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert (await owner.get("/v1/sessions")).status_code == 200


def test_limits_of_peers_use_bounded_memory() -> None:
    limits = PeerLimits(1, peers=10)
    for number in range(1000):
        limits.take(f"peer {number}", 0.0)
    assert len(limits) == 10
    assert limits.take("peer 999", 0.0) > 0


async def test_over_the_budget_new_turns_are_refused(server: Keyed, tmp_path: Path) -> None:
    key_id, client = await server.key("red", "run", "read", budgetUsd=0.5)
    await _session(client, tmp_path)
    first = await client.post("/v1/sessions/one/messages/stream", json={"message": "[hello]"})
    assert first.status_code == 200
    server.keys.charge([Charge(key_id, 0.5)])
    refused = await client.post("/v1/sessions/one/messages", json={"message": "[hello]"})
    assert (refused.status_code, refused.json()["code"]) == (402, "budget_exceeded")
    assert (await client.post("/v1/sessions/one/cancel")).status_code < 300
    assert (await client.get("/v1/sessions/one")).status_code == 200


async def test_a_turn_over_the_budget_of_its_key_is_interrupted(server: Keyed, tmp_path: Path) -> None:
    _, client = await server.key("red", "run", "read", budgetUsd=1e-9)
    await _session(client, tmp_path)
    message = {"message": "[tool name=bash command=true] [slow seconds=3600]"}
    with anyio.fail_after(LIMIT_SECONDS):
        assert (await client.post("/v1/sessions/one/messages/stream", json=message)).status_code == 200
    events = (await client.get("/v1/sessions/one/events")).json()["events"]
    (ended,) = [event for event in events if event["type"] == "turn.ended"]
    assert ended["data"]["stop_reason"] == "budget"
    refused = await client.post("/v1/sessions/one/messages", json=message)
    assert (refused.status_code, refused.json()["code"]) == (402, "budget_exceeded")


async def test_events_that_a_client_caused_name_its_key(server: Keyed, tmp_path: Path) -> None:
    key_id, client = await server.key("red", "run", "read", "answer")
    await _session(client, tmp_path)
    asks: list[dict[str, str]] = []
    async with anyio.create_task_group() as tasks:
        message = {"message": "[ask]"}
        tasks.start_soon(lambda: client.post("/v1/sessions/one/messages/stream", json=message))
        with anyio.fail_after(LIMIT_SECONDS):
            while not asks:
                asks = (await client.get("/v1/sessions/one/asks")).json()["asks"]
        path = f"/v1/sessions/one/permissions/{asks[0]['askId']}/reply"
        assert (await client.post(path, json={"reply": "once"})).status_code < 300
    events = (await client.get("/v1/sessions/one/events")).json()["events"]
    actor = {"key_id": key_id, "name": "red key"}
    by_client = {event["type"] for event in events if event.get("actor") == actor}
    assert {"session.started", "turn.started", "permission.resolved"} <= by_client
    assert all(
        "actor" not in event for event in events if event["source"] == "agent" and event["type"] != "item.started"
    )
    audit = (await (await server.owner()).get("/v1/audit", params={"sessionId": "one"})).json()["entries"]
    answered = next(entry for entry in audit if entry["operation"].endswith("/reply"))
    assert (answered["keyId"], answered["name"], answered["subject"]) == (key_id, "red key", asks[0]["askId"])
    assert (answered["outcome"], answered["workspace"]) == ("ok", "red")


async def test_the_audit_trail_has_effects_and_refusals_and_can_be_verified(server: Keyed, tmp_path: Path) -> None:
    owner = await server.owner()
    key_id, red = await server.key("red", "run", "read")
    await _session(red, tmp_path)
    await red.get("/v1/sessions")
    assert (await red.post("/v1/sessions/one/permissions/p/reply", json={"reply": "once"})).status_code == 403
    assert (await red.delete("/v1/sessions/none")).status_code == 404
    assert (await red.delete("/v1/sessions/one")).status_code < 300
    listed = (await owner.get("/v1/audit", params={"keyId": key_id})).json()["entries"]
    assert [(entry["operation"], entry["outcome"]) for entry in reversed(listed)] == [
        ("POST /v1/sessions/{session_id}", "ok"),
        ("POST /v1/sessions/{session_id}/permissions/{permission_id}/reply", "scope_missing"),
        ("DELETE /v1/sessions/{session_id}", "session_not_found"),
        ("DELETE /v1/sessions/{session_id}", "ok"),
    ]
    named = (await red.post("/v1/sessions", json={"agent": "mock", "directory": str(tmp_path)})).json()["sessionId"]
    (made,) = (await owner.get("/v1/audit", params={"sessionId": named})).json()["entries"]
    assert made["operation"] == "POST /v1/sessions"
    by_owner = (await owner.get("/v1/audit", params={"keyId": "owner"})).json()["entries"]
    assert [(entry["operation"], entry["subject"]) for entry in by_owner] == [("POST /v1/keys", key_id)]
    everything = (await owner.get("/v1/audit", params={"limit": 2})).json()
    assert len(everything["entries"]) == 2
    assert (await owner.get("/v1/audit", params={"page": everything["nextPage"]})).status_code == 200
    state = (await owner.get("/v1/audit/verify")).json()
    assert (state["valid"], state["entries"]) == (True, everything["entries"][0]["number"])
    _, admin = await server.key("blue", "admin")
    assert not [entry for entry in (await admin.get("/v1/audit")).json()["entries"] if entry["workspace"] != "blue"]
    assert (await admin.get("/v1/audit/verify")).status_code == 403


async def test_a_replaced_token_file_takes_effect_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    async with keyed(tmp_path, token_file=file) as server:
        old = await server.owner()

        async def rotate() -> None:
            (tmp_path / "fresh").write_text("another-token")
            (tmp_path / "fresh").rename(file)
            new = await server.client("another-token")
            assert (await new.get("/v1/sessions")).status_code == 200

        await _ends(old, "/v1/events/sse", rotate)
        assert (await old.get("/v1/sessions")).status_code == 401


async def test_worker_keys_are_revoked_singly_and_end_with_their_environment(server: Keyed) -> None:
    owner = await server.owner()
    root = "/anthropic/v1/environments"
    environment = (await owner.post(root, json={"name": "own", "config": {"type": "self_hosted"}})).json()["id"]
    shared = (await owner.get(f"{root}/{environment}/key")).json()["key"]
    assert (await owner.get(f"{root}/{environment}/key")).json()["key"] == shared
    made = [(await owner.post(f"{root}/{environment}/keys", json={"name": name})).json() for name in ("a", "b")]
    one, two, all_workers = [await server.client(key) for key in (made[0]["key"], made[1]["key"], shared)]
    poll = f"{root}/{environment}/work/poll"
    assert [(await worker.get(poll)).status_code for worker in (one, two, all_workers)] == [200, 200, 200]
    await owner.delete(f"{root}/{environment}/keys/{made[0]['id']}")
    assert [(await worker.get(poll)).status_code for worker in (one, two, all_workers)] == [401, 200, 200]
    names = [key["name"] for key in (await owner.get(f"{root}/{environment}/keys")).json()["data"]]
    assert sorted(names) == ["b", "shared"]
    await owner.post(f"{root}/{environment}/archive", json={})
    assert [(await worker.get(poll)).status_code for worker in (one, two, all_workers)] == [401, 401, 401]
