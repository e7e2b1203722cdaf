"""A session without a title is called by its first message, on every route, until somebody sets a title."""

import httpx2
import pytest

from tests.api.test_real_sessions import client, turn

__all__ = ["client"]

ASKED = "Mend the  login page\n\nIt shows an empty form."
CALLED = "Mend the login page It shows an empty form."


async def title(http: httpx2.AsyncClient, path: str = "/v1/sessions/mine") -> str | None:
    return (await http.get(path)).json()["title"]


async def test_the_first_message_is_the_title_until_one_is_set(client: httpx2.AsyncClient):
    assert await title(client) is None
    await client.post("/v1/sessions/mine/messages", json={"message": ASKED})
    assert await title(client) == CALLED
    await turn(client, "and something else")
    assert await title(client) == CALLED
    await client.patch("/v1/sessions/mine", json={"title": "Login"})
    assert await title(client) == "Login"
    await client.patch("/v1/sessions/mine", json={"title": None})
    assert await title(client) == CALLED


async def test_it_is_shown_in_lists_searches_exports_and_forks(client: httpx2.AsyncClient):
    await turn(client, ASKED)
    listed = (await client.get("/v1/sessions")).json()["sessions"]
    assert [each["title"] for each in listed] == [CALLED]
    found = (await client.get("/v1/search", params={"q": "login"})).json()["hits"]
    assert {each["title"] for each in found} == {CALLED}
    exported = await client.get("/v1/sessions/mine/export", params={"format": "markdown"})
    assert exported.text.startswith(f"# {CALLED}\n")
    forked = (await client.post("/v1/sessions/mine/fork", json={"sessionId": "copy"})).json()
    assert forked["title"] == CALLED


@pytest.mark.parametrize(
    ("message", "called"),
    [
        ("x" * 80, "x" * 80),
        ("word " * 30, f"{'word ' * 15}word…"),
        ("y" * 100_000, "y" * 79 + "…"),
        ("\0one\x1b[2Jtwo\u202e", "one [2Jtwo"),
    ],
    ids=["short", "words", "long", "control characters"],
)
async def test_a_title_is_a_short_line(client: httpx2.AsyncClient, message: str, called: str):
    await client.post("/v1/sessions/mine/messages", json={"message": message})
    assert await title(client) == called


async def test_a_secret_in_the_message_is_masked(client: httpx2.AsyncClient):
    made = {"agent": "mock", "directory": "/", "secrets": {"TOKEN": "a-secret-of-mine-4711"}}
    assert (await client.post("/v1/sessions/other", json=made)).status_code == 200
    await client.post("/v1/sessions/other/messages", json={"message": "use a-secret-of-mine-4711 now"})
    called = await title(client, "/v1/sessions/other")
    assert called is not None
    assert "4711" not in called
    assert called.startswith("use ")
