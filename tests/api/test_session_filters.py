"""Sessions are listed by directory, metadata and time of creation."""

from pathlib import Path

import httpx2

from tests.api.test_real_sessions import client

__all__ = ["client"]


async def found(http: httpx2.AsyncClient, **query: str) -> list[str]:
    answer = await http.get("/v1/sessions", params=query)
    assert answer.status_code == 200, answer.text
    return [each["sessionId"] for each in answer.json()["sessions"]]


async def test_sessions_are_filtered_by_directory_metadata_and_time(client: httpx2.AsyncClient, tmp_path: Path):
    (tmp_path / "web").mkdir()
    for name, directory, metadata in (
        ("a", tmp_path / "web", {"project": "web", "owner": "ann"}),
        ("b", tmp_path, {"project": "web"}),
    ):
        body = {"agent": "mock", "directory": str(directory), "metadata": metadata}
        (await client.post(f"/v1/sessions/{name}", json=body)).raise_for_status()
    made = (await client.get("/v1/sessions/b")).json()["createdAt"] / 1000
    assert await found(client, directory=str(tmp_path / "web")) == ["a"]
    assert await found(client, metadata="project:web") == ["b", "a"]
    assert await found(client, metadata="project:web,owner:ann") == ["a"]
    assert "b" in await found(client, since=str(made), until="2100-01-01T00:00:00Z")
    assert await found(client, until="2000-01-01T00:00:00Z") == []
    first = (await client.get("/v1/sessions", params={"metadata": "project:web", "limit": 1})).json()
    assert [each["sessionId"] for each in first["sessions"]] == ["b"]
    assert await found(client, metadata="project:web", page=first["nextPage"]) == ["a"]


async def test_times_are_seconds_with_fractions_too(client: httpx2.AsyncClient):
    (await client.post("/v1/sessions/timed", json={"agent": "mock"})).raise_for_status()
    assert await found(client, until="0.5") == []
    assert "timed" in await found(client, since="0.5")
    for query, count in (({"until": "0.5"}, 0), ({"since": "0.5"}, 1)):
        answer = await client.get("/v1/sessions/timed/events", params={**query, "types": "session.started"})
        assert (answer.status_code, len(answer.json()["events"])) == (200, count), query


async def test_a_filter_that_cannot_be_read_says_how_it_is_written(client: httpx2.AsyncClient):
    answer = await client.get("/v1/sessions", params={"metadata": "project"})
    assert answer.status_code == 400
    assert "`project:web`" in answer.json()["detail"]
    assert (await client.get("/v1/sessions", params={"since": "yesterday"})).status_code == 400
