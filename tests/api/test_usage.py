"""Usage and cost: by session, agent, model, workspace, key, day and directory, from turns of real sessions."""

import math
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import httpx2
import pytest

from tests.api.keyed import Keyed, keyed
from tests.waiting import LIMIT_SECONDS

Sums = list[dict[str, object]]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Keyed]:
    async with keyed(tmp_path) as server:
        yield server


async def _turn(client: httpx2.AsyncClient, session: str, text: str, **settings: str) -> None:
    made = await client.post(f"/v1/sessions/{session}", json={"agent": "mock", **settings})
    assert made.status_code in (200, 409), made.text
    turn = await client.post(f"/v1/sessions/{session}/messages/stream", json={"message": text})
    assert turn.status_code == 200, turn.text


async def _sums(client: httpx2.AsyncClient, by: str, **limits: str) -> Sums:
    answer = await client.get("/v1/usage", params={"by": by, **limits})
    assert answer.status_code == 200, answer.text
    return answer.json()["sums"]


def _turns(sums: Sums, field: str) -> dict[object, object]:
    return {each[field]: each["turns"] for each in sums}


async def test_turns_are_counted_where_they_belong(server: Keyed, tmp_path: Path) -> None:
    owner = await server.owner()
    red_key, red = await server.key("red")
    web = tmp_path / "web"
    web.mkdir()
    await _turn(red, "one", "[text words=20] a", directory=str(web), model="mock-large", title="First")
    await _turn(red, "one", "[text words=20] b")
    await _turn(owner, "two", "[text words=20] c", model="mock-small")
    assert _turns(await _sums(owner, "session"), "sessionId") == {"one": 2, "two": 1}
    assert _turns(await _sums(owner, "session"), "title") == {"First": 2, "[text words=20] c": 1}
    assert _turns(await _sums(owner, "agent"), "agent") == {"mock": 3}
    assert _turns(await _sums(owner, "model"), "model") == {"mock-large": 2, "mock-small": 1}
    assert _turns(await _sums(owner, "workspace"), "workspace") == {"red": 2, "default": 1}
    assert _turns(await _sums(owner, "key"), "keyId") == {red_key: 2, "owner": 1}
    assert _turns(await _sums(owner, "directory"), "directory")[str(web)] == 2
    days = _turns(await _sums(owner, "day"), "day")
    assert sum(days.values()) == 3  # pyright: ignore[reportCallIssue, reportArgumentType] - two days at midnight
    assert len(await _sums(owner, "agent,workspace")) == 2
    for session in (await owner.get("/v1/sessions")).json()["sessions"]:
        (sum_of,) = await _sums(owner, "session", sessionId=session["sessionId"])
        assert sum_of["usage"] == session["usage"]
        assert math.isclose(sum_of["costUsd"], session["costUsd"], abs_tol=1e-9)  # pyright: ignore[reportArgumentType]


async def test_a_key_sees_what_its_workspace_used_also_after_it_was_deleted(server: Keyed) -> None:
    owner = await server.owner()
    _, red = await server.key("red")
    _, blue = await server.key("blue", "read")
    await _turn(red, "one", "hello")
    whole = (await red.get("/v1/usage")).json()["total"]
    assert whole["turns"] == 1
    assert (await blue.get("/v1/usage", params={"workspace": "red"})).json()["total"]["turns"] == 0
    assert await _sums(blue, "session") == []
    assert (await red.delete("/v1/sessions/one")).status_code == 204
    assert (await owner.get("/v1/usage", params={"workspace": "red"})).json()["total"] == whole
    (deleted,) = await _sums(owner, "session,directory")
    assert (deleted["sessionId"], deleted["title"], deleted["directory"]) == (None, None, None)


async def test_days_and_the_limit_are_kept_to(server: Keyed) -> None:
    owner = await server.owner()
    for name in ("one", "two"):
        await _turn(owner, name, f"[text words={40 if name == 'two' else 5}]", model="mock-large")
    today = datetime.now(UTC).date()
    yesterday = str(today - timedelta(days=1))
    report = (await owner.get("/v1/usage", params={"by": "session", "limit": "1", "since": yesterday})).json()
    assert ([each["sessionId"] for each in report["sums"]], report["more"]) == (["two"], True)
    assert report["total"]["turns"] == 2
    assert (await owner.get("/v1/usage", params={"since": str(today + timedelta(days=2))})).json()["total"][
        "turns"
    ] == 0
    assert (await owner.get("/v1/usage", params={"until": yesterday})).json()["total"]["turns"] == 0
    for wrong in ({"by": "colour"}, {"by": "day,day"}, {"since": "soon"}):
        assert (await owner.get("/v1/usage", params=wrong)).status_code == 400, wrong


async def test_waiting_for_a_person_is_measured(server: Keyed) -> None:
    owner = await server.owner()
    assert (await owner.post("/v1/sessions/one", json={"agent": "mock"})).status_code == 200
    await owner.post("/v1/sessions/one/messages", json={"message": "[ask]"})

    asks: list[dict[str, object]] = []
    with anyio.fail_after(LIMIT_SECONDS):
        while not asks:
            asks = (await owner.get("/v1/sessions/one/asks")).json()["asks"]
    (ask,) = asks
    answered = await owner.post(f"/v1/sessions/one/permissions/{ask['askId']}/reply", json={"reply": "once"})
    assert answered.status_code == 204, answered.text
    events = await owner.get("/v1/sessions/one/events", params={"types": "permission.requested,permission.resolved"})
    begin, end = (datetime.fromisoformat(event["time"]) for event in events.json()["events"])
    waited = (await owner.get("/v1/usage")).json()["total"]["waitedSeconds"]
    assert math.isclose(waited, (end - begin).total_seconds(), abs_tol=1e-5)
