"""A message that begins a turn is one commit through either API, so that no crash finds half of it in the log."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import pytest

from everyagent.api.app import create_app
from everyagent.api.context import ApiSettings
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.lazy_managed import LazyManaged
from everyagent.log.log import Append
from everyagent.log.sqlite.log import SqliteLog
from everyagent.model.decoding import decode_event
from everyagent.sessions.limits import Limits
from tests.waiting import LIMIT_SECONDS

BEGINNING = ["turn.started", "item.started", "item.delta", "item.completed", "session.updated"]


class Writes:
    """The writes of sessions to the log, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.all: list[Append] = []
        append = SqliteLog.append

        def appended(log: SqliteLog, step: Append, *, patient: bool = False) -> asyncio.Future[None]:
            self.all.append(step)
            return append(log, step, patient=patient)

        monkeypatch.setattr(SqliteLog, "append", appended)

    def beginning(self) -> Append:
        """The first write. It must have all events that begin the turn, and no later write may have any."""
        first, *later = self.all
        assert types(first)[: len(BEGINNING)] == BEGINNING
        assert [*first.inputs, *first.taken_inputs] == [], "the message was queued"
        assert "turn.started" not in [type for step in later for type in types(step)]
        return first


def types(step: Append) -> list[str]:
    return [decode_event(event.body).type for event in step.events]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    settings, lazy = Settings(data_dir=tmp_path / "data", default_agent="mock"), LazyManaged()
    async with sessions_of(settings, limits=Limits(), managed=lazy) as sessions:
        app = create_app(sessions, ApiSettings(token=None), managed=lambda: lazy.managed)
        transport = httpx2.ASGITransport(app)  # pyright: ignore[reportArgumentType]
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


async def until_idle(client: httpx2.AsyncClient, path: str) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while (await client.get(path)).json()["status"] != "idle":
            await anyio.sleep(0.01)


async def test_a_message_that_begins_a_turn_is_one_commit(
    client: httpx2.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/v1/sessions/mine"
    assert (await client.post(path, json={"agent": "mock", "directory": str(tmp_path)})).is_success
    for text in ("first", "second"):  # the first starts the agent
        writes = Writes(monkeypatch)
        key = {"idempotency-key": text}
        assert (await client.post(f"{path}/messages", json={"message": text}, headers=key)).is_success
        await until_idle(client, path)
        assert writes.beginning().receipt, "the key of the request is part of the commit"


async def test_a_user_message_of_a_managed_session_is_one_commit(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def made(path: str, body: object) -> str:
        answer = await client.post(f"/anthropic/v1{path}", json=body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    agent = await made("/agents", {"name": "a", "model": "mock-small"})
    environment = await made("/environments", {"name": "e"})
    session = await made("/sessions", {"agent": agent, "environment_id": environment})
    path = f"/anthropic/v1/sessions/{session}"
    for text in ("first", "second"):
        writes = Writes(monkeypatch)
        message = {"type": "user.message", "content": [{"type": "text", "text": text}]}
        assert (await client.post(f"{path}/events", json={"events": [message]})).is_success
        await until_idle(client, path)
        projection = writes.beginning().projection
        assert projection, "the managed events are part of the commit"
        assert b'"user.message"' in b"".join(event.body for event in projection.events)
