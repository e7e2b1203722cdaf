"""The API and the sessions of a daemon share one `Managed`, so that its locks and caches are the same for both."""

from pathlib import Path

import anyio
import httpx2
import pytest

from everyagent import managed
from everyagent.api.app import create_app
from everyagent.api.context import ApiSettings
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.lazy_managed import LazyManaged
from everyagent.managed.managed import Managed
from everyagent.sessions.limits import Limits

LIMIT = 60.0


async def test_a_daemon_builds_one_managed_object_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Managed] = []
    build = Managed.__init__

    def counted(self: Managed, *given: object) -> None:
        built.append(self)
        build(self, *given)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(managed.Managed, "__init__", counted)
    lazy = LazyManaged()
    settings = Settings(data_dir=tmp_path / "data", default_agent="mock")
    async with sessions_of(settings, limits=Limits(), managed=lazy) as sessions:
        app = create_app(sessions, ApiSettings(token=None), managed=lambda: lazy.managed)
        transport = httpx2.ASGITransport(app)  # pyright: ignore[reportArgumentType]
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost/anthropic/v1") as client:

            async def made(path: str, body: object) -> str:
                answer = await client.post(path, json=body)
                assert answer.status_code == 200, answer.text
                return str(answer.json()["id"])

            agent = await made("/agents", {"name": "a", "model": "mock-small"})
            environment = await made("/environments", {"name": "e"})
            message = {"type": "user.message", "content": [{"type": "text", "text": "[hello]"}]}
            session = await made(
                "/sessions", {"agent": agent, "environment_id": environment, "initial_events": [message]}
            )
            with anyio.fail_after(LIMIT):
                while (await client.get(f"/sessions/{session}")).json()["status"] != "idle":
                    await anyio.sleep(0.01)
    assert len(built) == 1
