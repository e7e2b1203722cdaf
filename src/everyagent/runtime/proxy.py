"""An HTTP proxy that connects only to allowed hosts. Supports CONNECT and plain requests."""

import asyncio
import base64
import socket
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from msgspec import Struct

from everyagent.model.hosts import admits
from everyagent.runtime.public_address import is_public

HEAD_LIMIT = 64 * 1024
HEAD_SECONDS = 30.0
CONNECT_SECONDS = 30.0
CONNECTIONS = 256
_PIECE = 64 * 1024


class ProxyRefusal(Exception):
    """An error response of the proxy: the status line and the reason."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


class _ProxyRequest(Struct, frozen=True, kw_only=True):
    """`first` is the rewritten request head for the host; empty for a tunnel."""

    host: str
    port: int
    tunnel: bool
    first: bytes


class Proxy:
    """Serves `listener` until it is closed. `allowed` are patterns normalized by `model.hosts`."""

    def __init__(self, allowed: Sequence[str], listener: socket.socket) -> None:
        self._allowed = tuple(allowed)
        self._listener = listener
        self._server: asyncio.Server | None = None
        self._busy: set[asyncio.Task[object]] = set()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, sock=self._listener, limit=HEAD_LIMIT)

    def close(self) -> None:
        """Stop at once and cut open connections."""
        if self._server:
            self._server.close()
        for task in self._busy:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._busy.add(task)
        try:
            with suppress(OSError, EOFError, asyncio.CancelledError):  # a peer disconnected, or the proxy was closed
                await self._answer(reader, writer)
        finally:
            self._busy.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await self._request(reader)
            upstream = await self._connect(request)
        except ProxyRefusal as refusal:
            body = f"{refusal}\n".encode()
            head = f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            with suppress(ConnectionError):
                await writer.drain()
            return
        there_reader, there = upstream
        try:
            if request.tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            there.write(request.first)
            await _together(_carry(reader, there), _carry(there_reader, writer))
        finally:
            there.close()

    async def _request(self, reader: asyncio.StreamReader) -> _ProxyRequest:
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
        except (TimeoutError, asyncio.LimitOverrunError) as error:
            raise ProxyRefusal("400 Bad Request", "The request head is incomplete or too long.") from error
        if len(self._busy) > CONNECTIONS:
            raise ProxyRefusal("503 Service Unavailable", f"There are more than {CONNECTIONS} connections.")
        request = _parsed(head)
        if not admits(self._allowed, request.host):
            hosts = ", ".join(self._allowed) or "no host"
            raise ProxyRefusal(
                "403 Forbidden", f"This session may not reach {request.host}: its network is limited to {hosts}."
            )
        return request

    async def _connect(self, request: _ProxyRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                next_proxy = _next_proxy(request)
                return await (_through(next_proxy, request) if next_proxy else self._straight(request))
        except (OSError, TimeoutError, EOFError, asyncio.LimitOverrunError) as error:
            raise ProxyRefusal(
                "502 Bad Gateway", f"{request.host} cannot be reached: {str(error) or 'it took too long'}."
            ) from error

    async def _straight(self, request: _ProxyRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a checked address: an allowed name must not lead to this machine or its private network."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(request.host, request.port, type=socket.SOCK_STREAM)
        addresses = [str(entry[4][0]) for entry in found]
        problem = OSError(
            f"it leads to {', '.join(addresses)}, which is not public, and may be reached only if it is allowed itself"
        )
        for address in addresses:
            if request.host == "localhost" or is_public(address) or admits(self._allowed, address):
                try:
                    return await asyncio.open_connection(address, request.port, limit=HEAD_LIMIT)
                except OSError as error:
                    problem = error
        raise problem


def _parsed(head: bytes) -> _ProxyRequest:
    line, _, rest = head.partition(b"\r\n")
    try:
        method, target, version = line.decode("ascii").split(" ")
        address = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = address.hostname or "", address.port or (80 if address.scheme == "http" else 0)
    except ValueError as error:
        raise ProxyRefusal(
            "400 Bad Request", "This is a proxy: send CONNECT, or a request with an absolute URL."
        ) from error
    if not host or not port or not version.startswith("HTTP/1.") or address.scheme not in ("", "http"):
        raise ProxyRefusal(
            "400 Bad Request", "This is a proxy: send CONNECT, or a request with an absolute http:// URL."
        )
    if method == "CONNECT":
        return _ProxyRequest(host=host, port=port, tunnel=True, first=b"")
    path = (address.path or "/") + (f"?{address.query}" if address.query else "")
    kept = [each for each in rest.split(b"\r\n") if each and not each.lower().startswith((b"proxy-", b"connection:"))]
    first = b"\r\n".join([f"{method} {path} {version}".encode(), *kept, b"Connection: close", b"", b""])
    return _ProxyRequest(host=host, port=port, tunnel=False, first=first)


def _next_proxy(request: _ProxyRequest) -> SplitResult | None:
    """The upstream proxy in the daemon's environment, if there is one for this host."""
    proxies = getproxies()
    written = proxies.get("https" if request.tunnel else "http") or proxies.get("all")
    if not written or proxy_bypass(request.host):
        return None
    return urlsplit(written if "//" in written else f"http://{written}")


async def _through(proxy: SplitResult, request: _ProxyRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if proxy.scheme != "http" or not proxy.hostname:
        raise OSError(f"the daemon's upstream proxy is not an HTTP proxy: {proxy.scheme}")
    reader, writer = await asyncio.open_connection(proxy.hostname, proxy.port or 80, limit=HEAD_LIMIT)
    try:
        where = f"[{request.host}]:{request.port}" if ":" in request.host else f"{request.host}:{request.port}"
        head = f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n"
        if proxy.username:
            account = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
            head += f"Proxy-Authorization: Basic {base64.b64encode(account.encode()).decode()}\r\n"
        writer.write(f"{head}\r\n".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        status_line = answer.partition(b"\r\n")[0].decode(errors="replace")
        if status_line.split(" ")[1:2] != ["200"]:
            raise OSError(f"the daemon's upstream proxy answered {status_line}")
    except BaseException:
        writer.close()
        raise
    return reader, writer


async def _together(*ways: Coroutine[object, object, None]) -> None:
    """Wait until all have ended or one has failed."""
    tasks = [asyncio.create_task(way) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy until the source ends. The other direction may continue."""
    while piece := await source.read(_PIECE):
        target.write(piece)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()
