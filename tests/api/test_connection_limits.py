"""Bounds of connections: what a client without a token can make the server hold."""

import asyncio
import socket

import anyio
import pytest

from everyagent.api.connection_limits import ConnectionLimits, descriptors_for_clients
from everyagent.api.context import ApiSettings
from everyagent.api.server import listen
from tests.api.served import TOKEN, Served
from tests.waiting import LIMIT_SECONDS

SHORT = ConnectionLimits(head_seconds=0.2, body_seconds=0.2)
FEW = ConnectionLimits(connections=3)
ONE_REQUEST = ApiSettings(token=TOKEN, max_requests=1)


async def connect(served: Served, data: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    incoming, outgoing = await asyncio.open_connection("127.0.0.1", served.port)
    outgoing.write(data)
    return incoming, outgoing


async def all_of(served: Served, data: bytes) -> bytes:
    """Everything the server sends until it closes the connection."""
    incoming, outgoing = await connect(served, data)
    try:
        with anyio.fail_after(LIMIT_SECONDS):
            return await incoming.read()
    finally:
        outgoing.close()


def head(served: Served, line: str, *headers: str) -> bytes:
    lines = (line, f"host: 127.0.0.1:{served.port}", f"x-api-key: {TOKEN}", *headers)
    return "".join(f"{line}\r\n" for line in lines).encode()


@pytest.mark.parametrize(
    ("start", "status", "code"),
    [
        (b"GET /" + b"a" * 70_000, 414, b"url_too_long"),
        (b"GET /" + b"a" * 60_000 + b" HTTP/1.1\r\n\r\n", 414, b"url_too_long"),
        (b"GET / HTTP/1.1\r\nx: " + b"a" * 70_000, 431, b"headers_too_large"),
        (b"GET / HTTP/1.1\r\n" + b"x: a\r\n" * 300, 431, b"headers_too_large"),
    ],
)
async def test_a_head_over_the_limit_is_refused_before_it_ends(
    served: Served, start: bytes, status: int, code: bytes
) -> None:
    answer = await all_of(served, start)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert code in answer


async def test_a_head_over_the_limit_is_refused_if_it_comes_in_pieces(served: Served) -> None:
    incoming, outgoing = await connect(served, b"GET /")
    with anyio.fail_after(LIMIT_SECONDS):
        while not incoming.at_eof():
            outgoing.write(b"a" * 256)
            await outgoing.drain()
            with anyio.move_on_after(0.001):
                assert (await incoming.read(12)) in (b"HTTP/1.1 414", b"")
                break
    outgoing.close()


@pytest.mark.parametrize("connection_limits", [SHORT])
@pytest.mark.parametrize("start", ["GET /v1/health HTT", "GET /v1/health HTTP/1.1\r\nhost: local"])
async def test_a_head_that_does_not_arrive_is_408(served: Served, start: str) -> None:
    answer = await all_of(served, start.encode())
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"request_timeout" in answer


@pytest.mark.parametrize("connection_limits", [SHORT])
async def test_a_second_head_that_does_not_arrive_is_408(served: Served) -> None:
    answer = await all_of(served, head(served, "GET /v1/health HTTP/1.1") + b"\r\nGET /v1/he")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in answer


@pytest.mark.parametrize("connection_limits", [SHORT])
async def test_a_connection_without_a_request_is_closed(served: Served) -> None:
    assert await all_of(served, b"") == b""


@pytest.mark.parametrize("connection_limits", [SHORT])
@pytest.mark.parametrize(
    "body",
    ["content-length: 9\r\n\r\n{", "transfer-encoding: chunked\r\n\r\n1\r\n{\r\n", "content-length: 9999\r\n\r\n"],
)
async def test_a_body_that_does_not_arrive_is_408(served: Served, body: str) -> None:
    start = head(served, "POST /v1/sessions HTTP/1.1", "content-type: application/json") + body.encode()
    assert (await all_of(served, start)).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("connection_limits", [ConnectionLimits(head_seconds=0.5, body_seconds=2)])
async def test_a_slow_body_and_a_waiting_stream_are_not_cut(served: Served) -> None:
    served.sessions.add("mine", count=0)
    stream, to_stream = await connect(served, head(served, "GET /v1/sessions/mine/events/sse HTTP/1.1") + b"\r\n")
    with anyio.fail_after(20):
        await stream.readuntil(b"\r\n\r\n")
    text = b'{"agent":"hal"}'
    length = f"content-length: {len(text)}"
    start = head(served, "POST /v1/sessions HTTP/1.1", "content-type: application/json", length) + b"\r\n"
    incoming, outgoing = await connect(served, start)
    with anyio.fail_after(LIMIT_SECONDS):
        for byte in text:
            await asyncio.sleep(0.25)  # the speed of this client is what is tested
            outgoing.write(bytes([byte]))
        assert (await incoming.readuntil(b"\r\n")).startswith(b"HTTP/1.1 400 ")
    assert not stream.at_eof()
    outgoing.close()
    to_stream.close()


async def test_thousands_of_pipelined_requests_are_answered_in_order(served: Served) -> None:
    paths = [f"/v1/nothing{number}" for number in range(2000)]
    data = b"".join(head(served, f"GET {path} HTTP/1.1") + b"\r\n" for path in paths)
    incoming, outgoing = await connect(served, data)
    with anyio.fail_after(LIMIT_SECONDS):
        for path in paths:
            await incoming.readuntil(b'"path":"%b"' % path.encode())
    outgoing.close()


async def test_requests_that_follow_a_body_are_answered(served: Served) -> None:
    json = "content-type: application/json"
    chunked = head(served, "POST /v1/sessions HTTP/1.1", json, "transfer-encoding: chunked")
    sized = head(served, "POST /v1/sessions HTTP/1.1", json, "content-length: 2")
    data = (
        (chunked + b"\r\n2\r\n{]\r\n0\r\n\r\n" + sized + b"\r\n{]") * 20
        + head(served, "GET /v1/end HTTP/1.1")
        + b"\r\n"
    )
    incoming, outgoing = await connect(served, data)
    with anyio.fail_after(LIMIT_SECONDS):
        answer = await incoming.readuntil(b'"path":"/v1/end"')
    assert answer.count(b"HTTP/1.1 400 ") == 40
    outgoing.close()


@pytest.mark.parametrize("connection_limits", [FEW])
async def test_connections_over_the_limit_are_503_until_others_leave(served: Served) -> None:
    opened = [await connect(served, head(served, "GET /v1/health HTTP/1.1") + b"\r\n") for _ in range(3)]
    for incoming, _ in opened:
        await incoming.readuntil(b"}")
    refused = await all_of(served, b"")
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert b"too_many_connections" in refused
    assert b"retry-after: 1" in refused
    opened[0][1].close()
    with anyio.fail_after(LIMIT_SECONDS):
        while b"200 OK" not in await all_of(
            served, head(served, "GET /v1/health HTTP/1.1", "connection: close") + b"\r\n"
        ):
            await asyncio.sleep(0.01)
    for _, outgoing in opened:
        outgoing.close()


def test_lost_clients_are_found_by_the_kernel_within_45_seconds() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            options = [
                accepted.getsockopt(socket.IPPROTO_TCP, option)
                for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
            ]
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    idle, interval, count, unacknowledged = options
    assert idle + interval * count <= 45
    assert 0 < unacknowledged <= 35_000  # with a heartbeat at least every 10 seconds


@pytest.mark.parametrize(("limit", "most"), [(256, 192), (1024, 768), (20_000, 19_488), (64, 1)])
def test_some_file_descriptors_are_kept_from_clients(limit: int, most: int) -> None:
    assert descriptors_for_clients(limit) == most


@pytest.mark.parametrize("settings", [ONE_REQUEST])
async def test_requests_over_the_limit_are_503_until_others_are_done(served: Served) -> None:
    body = b'{"agent":"mock"}'
    request = head(
        served, "POST /v1/sessions HTTP/1.1", "content-type: application/json", f"content-length: {len(body)}"
    )
    incoming, outgoing = await connect(served, request + b"\r\n" + body[:5])
    with anyio.fail_after(LIMIT_SECONDS):
        while (refused := await served.client.get("/v1/sessions")).status_code == 200:
            await anyio.sleep(0.01)
    assert (refused.status_code, refused.json()["code"], refused.json()["limit"]) == (503, "too_many_requests", 1)
    assert "--max-requests" in refused.json()["detail"]
    assert refused.headers["retry-after"] == "1"
    assert (await served.client.get("/v1/health")).status_code == 200
    outgoing.write(body[5:])
    with anyio.fail_after(LIMIT_SECONDS):
        assert b" 200 " in await incoming.readuntil(b"\r\n")
    assert (await served.client.get("/v1/sessions")).status_code == 200
    outgoing.close()
