"""Workspaces: a key finds nothing of another workspace, on any route of either API, in any listing or stream."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import msgspec
import pytest

from everyagent.api.managed.routes import ROUTES as MANAGED
from everyagent.api.routes import ROUTES as UNIVERSAL
from everyagent.api.routing import Route
from everyagent.api.streaming import EventStream
from tests.api.keyed import Keyed, keyed
from tests.waiting import LIMIT_SECONDS

#: Routes about the daemon or the caller, which are the same for everybody.
COMMON = re.compile(
    r"/healthz|/v1/(health|me|schema\.json|agents.*|audit/verify)|/openapi\.json|/anthropic/(openapi\.json|v1/models.*)"
)
#: Bodies without which a route would refuse the request before it looks for anything.
BODIES: dict[str, object] = {
    "send_message": {"message": "x"},
    "stream_message": {"message": "x"},
    "reply_to_permission": {"reply": "once"},
    "reply_to_question": {"answers": [["x"]]},
    "reply_to_tool": {"output": "x"},
    "call_custom_tools": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "update_session": {"title": "x"},
    "create_environment_key": {"name": "x"},
    "update_work": {"metadata": {"a": "b"}},
    "send_managed_events": {"events": [{"type": "user.message", "content": [{"type": "text", "text": "x"}]}]},
    "add_session_resource": {"type": "file", "file_id": "unknown", "mount_path": "/mnt/a"},
    "update_session_resource": {"authorization_token": "x"},
    "create_credential": {
        "auth": {"type": "static_bearer", "mcp_server_url": "https://mcp.example", "token": "x"},
    },
    "create_memory": {"path": "/b.md", "content": "x"},
    "update_memory_version": {},
}
#: A multipart body with one skill.
SKILL = (
    b'--b\r\ncontent-disposition: form-data; name="files[]"; filename="a/SKILL.md"\r\n\r\n'
    b"---\nname: secret\ndescription: a skill\n---\nx\r\n--b--\r\n"
)
MULTIPART = {"content-type": "multipart/form-data; boundary=b"}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Keyed]:
    async with keyed(tmp_path) as server:
        yield server


class Belongings:
    """One of everything that a workspace can have; the ids by the name of the path parameter."""

    def __init__(self, ids: dict[str, str], managed_session: str) -> None:
        self.ids = ids
        self.managed_session = managed_session


async def _made(client: httpx2.AsyncClient, path: str, body: object) -> str:
    response = await client.post(path, json=body)
    assert response.status_code == 200, response.text
    return str(response.json()["id"])


async def belongings(client: httpx2.AsyncClient, folder: Path) -> Belongings:
    session = await client.post("/v1/sessions/secret-session", json={"agent": "mock", "directory": str(folder)})
    assert session.status_code == 200, session.text
    turn = await client.post("/v1/sessions/secret-session/messages/stream", json={"message": "[say secretword]"})
    assert turn.status_code == 200
    (folder / "secret.txt").write_text("secret")
    root = "/anthropic/v1"
    agent = await _made(client, f"{root}/agents", {"name": "secret", "model": "mock-model"})
    environment = await _made(client, f"{root}/environments", {"name": "secret", "config": {"type": "self_hosted"}})
    cloud = await _made(client, f"{root}/environments", {"name": "secret cloud"})
    vault = await _made(client, f"{root}/vaults", {"display_name": "secret"})
    store = await _made(client, f"{root}/memory_stores", {"name": "secret"})
    memory = await _made(client, f"{root}/memory_stores/{store}/memories", {"path": "/a.md", "content": "secret"})
    versions = (await client.get(f"{root}/memory_stores/{store}/memory_versions")).json()["data"]
    file = (await client.post(f"{root}/files", files={"file": ("a.txt", b"secret")})).json()["id"]
    managed = await _made(client, f"{root}/sessions", {"agent": agent, "environment_id": cloud})
    auth = BODIES["create_credential"]
    credential = await _made(client, f"{root}/vaults/{vault}/credentials", auth)
    skill = await client.post(f"{root}/skills", content=SKILL, headers=MULTIPART)
    assert skill.status_code == 200, skill.text
    resource = {"type": "file", "file_id": file, "mount_path": "/mnt/a.txt"}
    resource_id = await _made(client, f"{root}/sessions/{managed}/resources", resource)
    threads = (await client.get(f"{root}/sessions/{managed}/threads")).json()["data"]
    worker = await _made(client, f"{root}/environments/{environment}/keys", {"name": "secret"})
    hook = await client.post("/v1/webhooks", json={"url": "https://93.184.215.14/", "events": ["error"]})
    assert hook.status_code == 200, hook.text
    ids = {
        "session_id": "secret-session",
        "agent_id": agent,
        "environment_id": environment,
        "vault_id": vault,
        "memory_store_id": store,
        "memory_id": memory,
        "memory_version_id": versions[0]["id"],
        "file_id": file,
        "key_id": worker,
        "webhook_id": hook.json()["webhook"]["webhookId"],
        "credential_id": credential,
        "skill_id": skill.json()["id"],
        "version": skill.json()["latest_version_id"],
        "resource_id": resource_id,
        "thread_id": threads[0]["id"] if threads else "unknown",
    }
    return Belongings(ids, managed)


async def _answer(client: httpx2.AsyncClient, route: Route, path: str, folder: Path) -> httpx2.Response:
    params = {"sessionId": "secret-session", "path": "secret.txt", "q": "secretword", "sequence": 1}
    wanted = {name: value for name, value in params.items() if name in re.findall(r"\w+", str(_query_names(route)))}
    if EventStream in route.answers and route.method == "GET":
        async with client.stream("GET", path, params=wanted) as response:
            if response.status_code != 200:
                await response.aread()
            return response
    if route.takes:
        return await client.request(route.method, path, content=SKILL, headers=MULTIPART)
    body = BODIES.get(route.name, {})
    return await client.request(route.method, path, params=wanted, json=None if route.method == "GET" else body)


def _query_names(route: Route) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(route.query)]


async def test_a_foreign_key_gets_404_on_every_route(server: Keyed, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    _, red = await server.key("red")
    _, blue = await server.key("blue")
    things = await belongings(red, folder)
    walked = found = 0
    for route in (*UNIVERSAL, *MANAGED):
        if COMMON.fullmatch(route.path) or "{" not in route.path:
            continue
        managed = route.path.startswith("/anthropic/v1/sessions")
        ids = things.ids | ({"session_id": things.managed_session} if managed else {})
        path = re.sub(r"{(\w+)}", lambda name, ids=ids: ids.get(name[1], "unknown"), route.path)
        response = await _answer(blue, route, path, folder)
        # Session ids are one namespace, so an id that another workspace uses is taken.
        expected = 409 if (route.method, route.path) == ("POST", "/v1/sessions/{session_id}") else 404
        assert response.status_code == expected, (route.method, path, response.text)
        assert "secretword" not in response.text
        walked += 1
        if route.method == "GET" and "unknown" not in path and not path.endswith(("/poll", "/image")):
            own = await _answer(red, route, path, folder)
            assert own.status_code == 200, (path, own.text)
            found += 1
    assert (walked > 80, found > 30) == (True, True), (walked, found)
    after = await red.get("/v1/sessions/secret-session")
    assert after.json()["status"] != "ended"
    for path in ("files/" + things.ids["file_id"], "vaults/" + things.ids["vault_id"]):
        assert (await red.get(f"/anthropic/v1/{path}")).status_code == 200


async def test_listings_search_and_metrics_show_only_ones_own(server: Keyed, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    _, red = await server.key("red")
    _, blue = await server.key("blue")
    things = await belongings(red, folder)
    hidden = [*things.ids.values(), things.managed_session, "secretword"]
    listed = 0
    for route in (*UNIVERSAL, *MANAGED):
        if route.method != "GET" or "{" in route.path or EventStream in route.answers or COMMON.fullmatch(route.path):
            continue
        if route.path.startswith("/v1/fs/"):
            continue
        params = {"q": "secretword"} if route.path == "/v1/search" else {}
        response = await blue.get(route.path, params=params)
        assert response.status_code == 200, (route.path, response.text)
        assert not [text for text in hidden if text in response.text.replace("?q=secretword", "")], route.path
        listed += 1
    assert listed > 10
    for path in ("entries", "stat", "file"):
        answer = await blue.get(f"/v1/fs/{path}", params={"sessionId": "secret-session", "path": "secret.txt"})
        assert answer.status_code == 404
    assert 'agent="mock"' in (await red.get("/metrics")).text
    assert 'agent="mock"' not in (await blue.get("/metrics")).text
    assert len((await red.get("/v1/search", params={"q": "secretword"})).json()["hits"]) >= 1


async def test_the_stream_of_all_sessions_shows_only_ones_own(server: Keyed, tmp_path: Path) -> None:
    _, red = await server.key("red")
    _, blue = await server.key("blue")
    lines: list[str] = []
    async with blue.stream("GET", "/v1/events/sse") as response, anyio.create_task_group() as tasks:

        async def read() -> None:
            async for line in response.aiter_lines():
                lines.append(line)
                if "session.started" in line:
                    tasks.cancel_scope.cancel()

        tasks.start_soon(read)
        for client, name in ((red, "red-one"), (blue, "blue-one")):
            made = await client.post(f"/v1/sessions/{name}", json={"agent": "mock", "directory": str(tmp_path)})
            assert made.status_code == 200
        with anyio.fail_after(LIMIT_SECONDS):
            await anyio.sleep_forever()
    assert any("blue-one" in line for line in lines)
    assert not any("red-one" in line for line in lines)


async def test_the_owner_sees_all_and_can_name_a_workspace(server: Keyed, tmp_path: Path) -> None:
    owner = await server.owner()
    _, red = await server.key("red")
    await red.post("/v1/sessions/red-one", json={"agent": "mock", "directory": str(tmp_path)})
    await owner.post("/v1/sessions/own", json={"agent": "mock", "directory": str(tmp_path)})
    in_red = {"x-everyagent-workspace": "red"}
    await owner.post("/v1/sessions/red-two", json={"agent": "mock", "directory": str(tmp_path)}, headers=in_red)

    async def names(client: httpx2.AsyncClient, headers: dict[str, str] | None = None) -> list[str]:
        listed = (await client.get("/v1/sessions", headers=headers)).json()["sessions"]
        return sorted(session["sessionId"] for session in listed)

    assert await names(owner) == ["own", "red-one", "red-two"]
    assert await names(owner, in_red) == await names(red) == ["red-one", "red-two"]
    refused = await red.get("/v1/sessions", headers={"x-everyagent-workspace": "blue"})
    assert refused.status_code == 403


async def test_names_and_idempotency_keys_of_workspaces_do_not_collide(server: Keyed) -> None:
    answers: list[httpx2.Response] = []
    for name in ("red", "blue"):
        _, client = await server.key(name)
        again = {"idempotency-key": "same"}
        answers.append(await client.post("/anthropic/v1/environments", json={"name": "same"}, headers=again))
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json()["id"] != answers[1].json()["id"]
