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
from tests.api.belongings import BODIES, MULTIPART, SKILL, belongings, made
from tests.api.keyed import Keyed, keyed
from tests.waiting import LIMIT_SECONDS

#: Routes about the daemon or the caller, which are the same for everybody.
COMMON = re.compile(
    r"/healthz|/v1/(health|me|schema\.json|agents.*|audit/verify)|/openapi\.json|/anthropic/(openapi\.json|v1/models.*)"
)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Keyed]:
    async with keyed(tmp_path) as server:
        yield server


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
    key, red = await server.key("red")
    _, blue = await server.key("blue")
    things = await belongings(red, folder, key)
    walked = found = 0
    for route in (*UNIVERSAL, *MANAGED):
        if COMMON.fullmatch(route.path) or "{" not in route.path:
            continue
        path = things.path_of(route)
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
    key, red = await server.key("red")
    _, blue = await server.key("blue")
    things = await belongings(red, folder, key)
    hidden = [*things.words(), "secretword"]
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


async def _line_of(client: httpx2.AsyncClient, path: str, word: str) -> list[str]:
    """The lines of a stream, up to the first one with the word."""
    lines: list[str] = []
    with anyio.fail_after(LIMIT_SECONDS):
        async with client.stream("GET", path) as response:
            assert response.status_code == 200, path
            async for line in response.aiter_lines():
                lines.append(line)
                if word in line:
                    return lines
    raise AssertionError(f"{path} ended without {word!r}")


async def test_a_stream_of_a_session_shows_that_session_alone(server: Keyed, tmp_path: Path) -> None:
    """On both APIs, while another workspace's session works at the same time."""
    root = "/anthropic/v1"
    clients = {name: (await server.key(name))[1] for name in ("red", "blue")}
    paths = dict[str, list[str]]()
    message = {"type": "user.message", "content": [{"type": "text", "text": "[say ready]"}]}
    for name, client in clients.items():
        created = await client.post(f"/v1/sessions/{name}-one", json={"agent": "mock", "directory": str(tmp_path)})
        assert created.status_code == 200
        agent = await made(client, f"{root}/agents", {"name": name, "model": "mock-model"})
        environment = await made(client, f"{root}/environments", {"name": name})
        managed = await made(client, f"{root}/sessions", {"agent": agent, "environment_id": environment})
        await client.post(f"{root}/sessions/{managed}/events", json={"events": [message]})
        (thread, *_) = (await client.get(f"{root}/sessions/{managed}/threads")).json()["data"]
        ids = {"session_id": f"{name}-one", "thread_id": thread["id"]}
        paths[name] = [
            re.sub(
                r"{(\w+)}",
                lambda part, ids=ids, managed=managed, route=route: (
                    managed if part[1] == "session_id" and route.path.startswith(root) else ids[part[1]]
                ),
                route.path,
            )
            for route in (*UNIVERSAL, *MANAGED)
            if route.method == "GET" and EventStream in route.answers and "{session_id}" in route.path
        ]
    assert len(paths["red"]) == len(paths["blue"]) == 4
    found = dict[tuple[str, str], list[str]]()

    async def read(name: str, path: str) -> None:
        found[name, path] = await _line_of(clients[name], path, f"{name}word")

    async def work(name: str) -> None:
        """Says the word again and again: some streams begin with what comes after their request."""
        said = {"type": "user.message", "content": [{"type": "text", "text": f"[say {name}word]"}]}
        managed = next(path.split("/")[4] for path in paths[name] if path.startswith(root))
        while len([each for each in found if each[0] == name]) < len(paths[name]):
            sent = await clients[name].post(f"/v1/sessions/{name}-one/messages", json={"message": f"[say {name}word]"})
            assert sent.status_code == 204
            await clients[name].post(f"{root}/sessions/{managed}/events", json={"events": [said]})
            await anyio.sleep(0.1)

    async with anyio.create_task_group() as tasks:
        for name in clients:
            tasks.start_soon(work, name)
            for path in paths[name]:
                tasks.start_soon(read, name, path)
    for (name, path), lines in found.items():
        other = "blue" if name == "red" else "red"
        assert not [line for line in lines if f"{other}word" in line or f"{other}-one" in line], path


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
