"""The server: raw connections and shutdown."""

import asyncio
from typing import cast

import anyio
import anyio.abc
import httpx2
import pytest
from starlette.types import Message

from everyagent.api import server
from everyagent.api.app import create_app
from everyagent.api.context import ApiSettings
from everyagent.api.server import listen
from everyagent.sessions import Sessions
from tests.api.fake_sessions import FakeSessions
from tests.api.served import TOKEN, Served, serve_anywhere
from tests.waiting import LIMIT_SECONDS


async def exchange(served: Served, data: bytes, until: bytes) -> bytes:
    incoming, outgoing = await asyncio.open_connection("127.0.0.1", served.port)
    outgoing.write(data)
    try:
        with anyio.fail_after(30):
            return await incoming.readuntil(until)
    finally:
        outgoing.close()


async def test_a_request_that_is_not_http_gets_a_problem(served: Served) -> None:
    answer = await exchange(served, b"\x16\x03\x01 this is not HTTP\r\n\r\n", b"}")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in answer
    assert b"x-request-id: req_" in answer


async def test_pipelined_requests_are_answered_in_order(served: Served) -> None:
    host = f"host: 127.0.0.1:{served.port}\r\nx-api-key: {TOKEN}\r\n\r\n"
    requests = [f"GET /v1/{path} HTTP/1.1\r\n{host}" for path in ("health", "sessions", "asks", "nothing")]
    answer = await exchange(served, "".join(requests).encode(), b'"path":"/v1/nothing"')
    marks = [b'"status":"ok"', b'"sessions"', b'"asks"', b"404 Not Found"]
    assert sorted(marks, key=answer.index) == marks


async def test_two_host_headers_are_refused(served: Served) -> None:
    host = f"host: 127.0.0.1:{served.port}\r\n"
    answer = await exchange(served, f"GET /v1/health HTTP/1.1\r\n{host}{host}\r\n".encode(), b"}")
    assert answer.startswith(b"HTTP/1.1 403 ")


async def test_a_server_with_open_streams_stops_at_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_GRACE_SECONDS", 3600)
    sessions = FakeSessions(served.directory)
    sessions.add("mine", count=0)
    app = create_app(cast(Sessions, sessions), ApiSettings(token=TOKEN))

    serving, stopped = anyio.CancelScope(), anyio.Event()

    async def run(*, task_status: anyio.abc.TaskStatus[int]) -> None:
        with serving:
            await serve_anywhere(app, task_status.started)
        stopped.set()

    async with anyio.create_task_group() as tasks:
        port = await tasks.start(run)
        incoming, outgoing = await asyncio.open_connection("127.0.0.1", port)
        request = f"GET /v1/events/sse HTTP/1.1\r\nhost: localhost:{port}\r\nx-api-key: {TOKEN}\r\n\r\n"
        outgoing.write(request.encode())
        await incoming.readuntil(b": open\n\n")
        serving.cancel()
        with anyio.fail_after(LIMIT_SECONDS):
            await stopped.wait()
        assert (await incoming.read()).endswith(b"0\r\n\r\n")
        outgoing.close()
        await outgoing.wait_closed()


async def test_a_request_that_is_not_done_when_the_server_stops_is_a_503(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_GRACE_SECONDS", 0)
    sessions, begun = FakeSessions(served.directory), anyio.Event()

    async def hang(*_: object, **__: object) -> None:
        begun.set()
        await anyio.sleep_forever()

    monkeypatch.setattr(sessions, "get", hang, raising=False)
    app = create_app(cast(Sessions, sessions), ApiSettings(token=TOKEN))
    serving = anyio.CancelScope()

    async def run(*, task_status: anyio.abc.TaskStatus[int]) -> None:
        with serving:
            await serve_anywhere(app, task_status.started)

    async with anyio.create_task_group() as tasks:
        port = await tasks.start(run)
        incoming, outgoing = await asyncio.open_connection("127.0.0.1", port)
        request = f"GET /v1/sessions/mine HTTP/1.1\r\nhost: localhost:{port}\r\nx-api-key: {TOKEN}\r\n\r\n"
        outgoing.write(request.encode())
        with anyio.fail_after(LIMIT_SECONDS):
            await begun.wait()
            serving.cancel()
            answer = await incoming.read()
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 1\r\n" in answer
        assert b"The daemon stopped before the request was done." in answer
        outgoing.close()
        await outgoing.wait_closed()


async def test_an_address_in_use_is_an_error_and_not_an_exit(served: Served) -> None:
    with pytest.raises(OSError):
        listen("127.0.0.1", served.port)


async def test_streams_work_over_any_asgi_server(served: Served) -> None:
    served.sessions.add("over", count=2, ended=True)
    transport = httpx2.ASGITransport(app=served.app)  # pyright: ignore[reportArgumentType]
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        response = await client.get("/v1/sessions/over/events/sse", headers={"x-api-key": TOKEN})
    assert response.content.count(b"event: message\n") == 2


async def test_a_disconnect_is_noticed_over_any_asgi_server(served: Served) -> None:
    served.sessions.add("mine", count=0)
    gone = anyio.Event()

    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message.get("body") == b": open\n\n":
            gone.set()

    headers = [(b"host", b"localhost"), (b"x-api-key", TOKEN.encode())]
    path = "/v1/sessions/mine/events/sse"
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers, "server": None}
    with anyio.fail_after(30):
        await served.app(scope, receive, send)
    assert served.sessions.tails[-1].closed.is_set()
    assert len(served.app.readers) == 0


@pytest.mark.parametrize("path", ["/v1/sessions/mine/events?text=a", "/v1/search?q=a"])
async def test_a_scan_ends_when_its_client_leaves(served: Served, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    begun, ended = anyio.Event(), anyio.Event()

    async def scan(*_: object, **__: object) -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    monkeypatch.setattr(served.sessions, "events", scan, raising=False)
    monkeypatch.setattr(served.sessions, "search", scan, raising=False)
    _, outgoing = await asyncio.open_connection("127.0.0.1", served.port)
    outgoing.write(f"GET {path} HTTP/1.1\r\nhost: localhost:{served.port}\r\nx-api-key: {TOKEN}\r\n\r\n".encode())
    with anyio.fail_after(LIMIT_SECONDS):
        await begun.wait()
        outgoing.close()
        await ended.wait()
    assert (await served.client.get("/v1/health")).status_code == 200
