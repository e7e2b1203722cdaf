"""The proxy that connects only to allowed hosts."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from everyagent.runtime import proxy as proxying
from everyagent.runtime.proxy import Proxy

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
REFUSED = b"HTTP/1.1 403 Forbidden"


@asynccontextmanager
async def serving(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncGenerator[int]:
    """The port of a server with this handler."""

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answer(reader, writer)
        writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@asynccontextmanager
async def proxied(*allowed: str) -> AsyncGenerator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    port = listener.getsockname()[1]
    proxy = Proxy(allowed, listener)
    before = asyncio.all_tasks()
    await proxy.open()
    try:
        yield port
    finally:
        proxy.close()
        async with asyncio.timeout(60):
            while asyncio.all_tasks() - before:
                await asyncio.sleep(0.01)


async def asked(port: int, request: bytes, *, eof: bool = False) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    if eof:
        writer.write_eof()
    async with asyncio.timeout(60):
        answer = await reader.read()
    writer.close()
    return answer


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece.upper())
        await writer.drain()


async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Echo the request."""
    head = await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(head), head))


async def test_a_tunnel_works_in_both_directions_until_both_end() -> None:
    async with serving(echo) as there, proxied("127.0.0.1") as port:
        head = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % there
        much = b"x" * 1_000_000
        answer = await asked(port, head + much, eof=True)
        assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n" + much.upper()


async def test_a_plain_request_is_rewritten_for_the_host() -> None:
    async with serving(page) as there, proxied("127.0.0.1") as port:
        request = (
            b"GET http://127.0.0.1:%d/a/b?c=d HTTP/1.1\r\nHost: 127.0.0.1\r\nProxy-Authorization: x\r\n"
            b"Connection: keep-alive\r\nX-Mine: 1\r\n\r\n" % there
        )
        answer = await asked(port, request)
        head = answer.partition(b"\r\n\r\n")[2]
        assert head == b"GET /a/b?c=d HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Mine: 1\r\nConnection: close\r\n\r\n"


async def test_other_hosts_are_refused_with_a_reason() -> None:
    async with serving(page) as there, proxied("example.org", "*.example.com") as port:
        for target in (b"127.0.0.1", b"localhost", b"example.org@127.0.0.1", b"example.com"):
            answer = await asked(port, b"CONNECT %s:%d HTTP/1.1\r\n\r\n" % (target, there))
            assert answer.startswith(REFUSED), target
        plain = await asked(port, b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: example.org\r\n\r\n" % there)
        assert plain.startswith(REFUSED)
        assert b"may not reach 127.0.0.1: its network is limited to example.org, *.example.com." in plain


async def test_a_host_name_cannot_resolve_to_the_daemons_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Except if that address itself is allowed."""
    loop = asyncio.get_running_loop()
    found = loop.getaddrinfo

    async def lying(host: str, port: int, **more: int) -> object:
        return await found("127.0.0.1" if host.endswith(".example.org") else host, port, **more)

    monkeypatch.setattr(loop, "getaddrinfo", lying)
    async with serving(page) as there, proxied("*.example.org", "localhost") as port:
        for host, status in ((b"trap.example.org", b"502"), (b"localhost", b"200")):
            answer = await asked(port, b"GET http://%s:%d/ HTTP/1.1\r\n\r\n" % (host, there))
            assert answer.split(b" ")[1] == status, host


async def test_an_invalid_request_is_refused_and_the_next_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxying, "HEAD_SECONDS", 0.2)
    async with serving(page) as there, proxied("127.0.0.1") as port:
        for nonsense in (
            b"GET / HTTP/1.1\r\n\r\n",
            b"CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n",
            b"CONNECT 127.0.0.1:99999999 HTTP/1.1\r\n\r\n",
            b"GET https://127.0.0.1/ HTTP/1.1\r\n\r\n",
            b"\xff\xfe\x00\r\n\r\n",
            b"never whole",
        ):
            assert (await asked(port, nonsense)).startswith(b"HTTP/1.1 400 "), nonsense[:40]
        assert await asked(port, b"half a line", eof=True) == b""
        with suppress(ConnectionResetError):  # what it did not read, the system throws back
            assert (await asked(port, b"CONNECT " + b"x" * 200_000)).startswith(b"HTTP/1.1 400 ")
        answer = await asked(port, b"GET http://127.0.0.1:%d/ HTTP/1.1\r\n\r\n" % there)
        assert answer.startswith(b"HTTP/1.1 200")


async def test_an_unreachable_host_is_a_502_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port_of_nobody = closed.getsockname()[1]
    async with proxied("127.0.0.1") as port:
        answer = await asked(port, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port_of_nobody)
        assert answer.startswith(b"HTTP/1.1 502")
        assert b"127.0.0.1 cannot be reached: " in answer


async def test_the_number_of_connections_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxying, "CONNECTIONS", 2)
    async with serving(echo) as there, proxied("127.0.0.1") as port:
        head = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % there
        opened: list[Streams] = []
        for _ in range(2):
            opened.append(await asyncio.open_connection("127.0.0.1", port))
            opened[-1][1].write(head)
            assert (await opened[-1][0].readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert (await asked(port, head)).startswith(b"HTTP/1.1 503")
        for _, writer in opened:
            writer.close()


async def test_it_uses_the_upstream_proxy_of_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        if b"closed.example.org" in heard[-1]:
            writer.write(b"HTTP/1.1 407 Who are you\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 Go on\r\n\r\n")
            await echo(reader, writer)

    async with serving(upstream) as other, proxied("*.example.org") as port:
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://me:my%20secret@127.0.0.1:{other}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        answer = await asked(port, b"CONNECT a.example.org:443 HTTP/1.1\r\n\r\nhello", eof=True)
        assert answer == b"HTTP/1.1 200 Connection established\r\n\r\nHELLO"
        assert heard[-1].startswith(b"CONNECT a.example.org:443 HTTP/1.1\r\n")
        assert b"Proxy-Authorization: Basic bWU6bXkgc2VjcmV0\r\n" in heard[-1]
        refused = await asked(port, b"CONNECT closed.example.org:443 HTTP/1.1\r\n\r\n")
        assert refused.startswith(b"HTTP/1.1 502")
        assert b"407 Who are you" in refused
        assert (await asked(port, b"CONNECT other.example.com:443 HTTP/1.1\r\n\r\n")).startswith(REFUSED)
