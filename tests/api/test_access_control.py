"""Checks of the token, the Host and the Origin on every route."""

import re
from collections.abc import Iterable

import httpx2
import pytest

from everyagent.api.routes import ROUTES
from everyagent.api.routing import Route
from tests.api.served import TOKEN, Served


async def statuses(
    client: httpx2.AsyncClient, routes: Iterable[Route], headers: dict[str, str]
) -> set[tuple[int, str]]:
    """The statuses of all routes."""
    seen: set[tuple[int, str]] = set()
    for route in routes:
        response = await client.request(route.method, re.sub(r"{\w+}", "x", route.path), headers=headers)
        seen.add((response.status_code, response.json()["code"]))
        assert "access-control-allow-origin" not in response.headers
        assert ("www-authenticate" in response.headers) == (response.status_code == 401)
    return seen


def test_only_health_is_public() -> None:
    assert [route.path for route in ROUTES if route.public] == [
        *("/v1/health", "/v1/ready", "/healthz"),
        *("/v1/runner/connect", "/v1/runner/callback", "/v1/runner/ping"),  # signed: tests/remote/test_callbacks.py
    ]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": TOKEN},
        {"authorization": "Bearer"},
        {"x-api-key": TOKEN[:-1]},
        {"x-api-key": ""},
        {"cookie": f"token={TOKEN}"},
    ],
    ids=str,
)
async def test_without_the_token_every_route_is_401(served: Served, headers: dict[str, str]) -> None:
    closed = [route for route in ROUTES if not route.public]
    assert await statuses(served.stranger, closed, headers) == {(401, "token_invalid")}
    assert not served.sessions.effects


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1:x", "localhost:", "127.0.0.1.evil", "localhost:1.evil"]
)
async def test_a_foreign_host_is_403_even_with_the_token(served: Served, host: str) -> None:
    headers = {"host": host.format(port=served.port)}
    assert await statuses(served.client, ROUTES, headers) == {(403, "forbidden")}


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost:{port}"])
async def test_a_foreign_origin_is_403_even_with_the_token(served: Served, origin: str) -> None:
    headers = {"origin": origin.format(port=served.port)}
    assert await statuses(served.client, ROUTES, headers) == {(403, "forbidden")}


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {TOKEN}"},
        {"authorization": f"bearer {TOKEN}"},
        {"x-api-key": TOKEN},
        {"x-api-key": TOKEN, "authorization": "Bearer of-something-else"},
    ],
    ids=str,
)
async def test_the_token_is_read_as_bearer_and_as_api_key(served: Served, headers: dict[str, str]) -> None:
    assert (await served.stranger.get("/v1/sessions", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "host", ["127.0.0.1:{port}", "localhost", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}", "localhost:8080"]
)
async def test_every_accepted_host_name_works(served: Served, host: str) -> None:
    host = host.format(port=served.port)
    for origin in (f"http://{host}", "https://inspector.example"):
        headers = {"host": host, "origin": origin}
        assert (await served.client.get("/v1/sessions", headers=headers)).status_code == 200


async def test_health_needs_no_token(served: Served) -> None:
    response = await served.stranger.get("/v1/health")
    assert response.json()["status"] == "ok"


async def test_unknown_paths_need_the_token_too(served: Served) -> None:
    assert (await served.stranger.get("/v1/whatever")).status_code == 401
