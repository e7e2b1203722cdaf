"""Every answer about a session has the same fields: of its creation, a read, a change and a listing."""

from pathlib import Path

import httpx2
import msgspec

from everyagent.model.sessions import SessionInfo
from tests.api.test_real_sessions import client

__all__ = ["client"]  # a fixture

#: Fields that change with time.
MOVING = {"eventCount", "updatedAt", "status"}


async def test_every_answer_about_a_session_has_the_same_fields(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    chosen = {
        "agent": "mock",
        "directory": str(tmp_path),
        "model": "mock-large",
        "title": "A title",
        "metadata": {"a": "b"},
        "env": {"A": "b"},
        "systemPrompt": "Be brief.",
        "toolPolicies": {"tools": {"bash": "ask"}},
        "lifetime": "process",
        "turnTimeout": 60,
        "budgetUsd": 1.5,
    }
    created = (await client.post("/v1/sessions", json=chosen)).json()
    path = f"/v1/sessions/{created['sessionId']}"
    retrieved = (await client.get(path)).json()
    changed = (await client.patch(path, json={"title": "A title"})).json()
    listed = (await client.get("/v1/sessions")).json()["sessions"]
    (of_list,) = [each for each in listed if each["sessionId"] == created["sessionId"]]
    assert created.pop("healthy") is True, "of a creation alone: clients of sandbox-agent read it"
    fields = {field.encode_name for field in msgspec.structs.fields(SessionInfo)}
    for answer in (created, retrieved, changed, of_list):
        assert set(answer) == fields
        for field in fields - MOVING:
            assert answer[field] == created[field], field
