"""Ids that do not exist, or no longer, leave nothing in the daemon's memory, so that they cannot fill it."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import anyio
import httpx2
import pytest

from everyagent.api.app import create_app
from everyagent.api.context import ApiSettings
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.errors import SessionNotFound
from everyagent.lazy_managed import LazyManaged
from everyagent.model.ids import new_id
from everyagent.sessions.limits import Limits
from everyagent.sessions.sessions import Sessions
from tests.reachable import texts_with
from tests.waiting import LIMIT_SECONDS

METHODS = ("get", "post", "put", "patch", "delete")
#: Creates the session that it names.
CREATE = ("post", "/v1/sessions/{session_id}")


class Served(NamedTuple):
    """A daemon's parts: `client` sends requests to `app`, which uses `sessions`."""

    client: httpx2.AsyncClient
    app: object
    sessions: Sessions

    async def until_idle(self, path: str) -> None:
        with anyio.fail_after(LIMIT_SECONDS):
            while (await self.client.get(path)).json()["status"] != "idle":
                await anyio.sleep(0.01)

    async def created(self, path: str, body: object) -> dict[str, object]:
        answer = await self.client.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    async def until_forgotten(self, id: str) -> None:
        """Tasks that end with a session may still run when the request that deletes it is answered."""
        with anyio.move_on_after(LIMIT_SECONDS):
            while texts_with(id, self):
                await anyio.sleep(0.1)
        assert texts_with(id, self) == []


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    settings, lazy = Settings(data_dir=tmp_path / "data", default_agent="mock"), LazyManaged()
    async with sessions_of(settings, limits=Limits(), managed=lazy) as sessions:
        app = create_app(sessions, ApiSettings(token=None), managed=lambda: lazy.managed)
        transport = httpx2.ASGITransport(app)  # pyright: ignore[reportArgumentType]
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield Served(client, app, sessions)


async def test_no_route_remembers_an_unknown_id(served: Served) -> None:
    unknown = new_id("none_")
    operations = [
        (method, path)
        for document in ("/openapi.json", "/anthropic/openapi.json")
        for path, item in (await served.client.get(document)).json()["paths"].items()
        for method in METHODS
        if method in item and "{" in path and (method, path) != CREATE
    ]
    assert len(operations) > 80
    for method, path in operations:
        url = re.sub(r"\{[^}]+\}", unknown, path)
        answer = await served.client.request(method, url, json=None if method == "get" else {})
        assert 400 <= answer.status_code < 500, (method, url, answer.text)
    await served.until_forgotten(unknown)


async def test_loading_an_unknown_session_leaves_nothing(served: Served) -> None:
    unknown = new_id("none_")
    with pytest.raises(SessionNotFound):
        async with served.sessions._supervisor.hold(unknown):
            pass
    await served.until_forgotten(unknown)


async def test_a_deleted_session_leaves_nothing(served: Served, tmp_path: Path) -> None:
    session = new_id("mine_")
    path = f"/v1/sessions/{session}"
    await served.created(path, {"agent": "mock", "directory": str(tmp_path)})
    await served.client.post(f"{path}/messages", json={"message": "hello"})
    await served.until_idle(path)
    assert texts_with(session, served)
    assert (await served.client.delete(path)).is_success
    await served.until_forgotten(session)


async def test_a_deleted_managed_session_leaves_nothing(served: Served) -> None:
    agent = await served.created("/anthropic/v1/agents", {"name": "a", "model": "mock-small"})
    environment = await served.created("/anthropic/v1/environments", {"name": "e"})
    message = {"type": "user.message", "content": [{"type": "text", "text": "hello"}]}
    body = {"agent": agent["id"], "environment_id": environment["id"], "initial_events": [message]}
    session = str((await served.created("/anthropic/v1/sessions", body))["id"])
    path = f"/anthropic/v1/sessions/{session}"
    await served.until_idle(path)
    assert texts_with(session, served)
    assert (await served.client.get(f"/anthropic/v1/files?scope_id={session}")).is_success
    assert (await served.client.delete(path)).is_success
    await served.until_forgotten(session)
