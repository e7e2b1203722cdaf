"""Serves the application over HTTP with uvicorn. The caller handles signals, output and logging."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import cast

import anyio
from msgspec import Struct
from uvicorn.config import Config
from uvicorn.server import Server

from everyagent.api.app import Application
from everyagent.api.connection import HttpConnection
from everyagent.api.connection_limits import ConnectionCount, ConnectionLimits

_GRACE_SECONDS = 5
_SWEEP_SECONDS = 1.0
_HANDSHAKE_SECONDS = 10.0
_LIMITS = ConnectionLimits()
#: A client that acknowledges nothing for 30 seconds is gone. An idle connection is probed from the 15th second on.
_PROBES = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4), ("TCP_USER_TIMEOUT", 30_000))


class TlsListener(Struct, frozen=True):
    """A listening socket, and the certificate with which it serves."""

    listener: socket.socket
    context: ssl.SSLContext


async def serve(
    app: Application,
    listener: socket.socket,
    ready: Callable[[], None],
    closing: Callable[[], Awaitable[None]],
    limits: ConnectionLimits = _LIMITS,
    *,
    trusted: Callable[[str], bool] = lambda _: False,
    tls: TlsListener | None = None,
) -> None:
    """Serve until cancelled, then give running requests a few seconds to finish. `ready` is called when it serves.

    A peer that `trusted` accepts may have any number of connections. With `tls`, HTTPS is served beside it.
    `closing` is awaited before any request is cut: an agent would take a cut call of a custom tool for its result.
    """
    config = Config(
        app,
        http=cast("type[HttpConnection]", partial(HttpConnection, limits, ConnectionCount(limits, trusted))),
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = _UvicornServer(config, ready, tls)
    try:
        await server.serve([listener])
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await closing()
            app.readers.close()
            await server.shutdown([listener, tls.listener] if tls else [listener])
        raise


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket. Requests wait in its backlog until they are served. Port 0 is any free port."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _probe_clients(listener)
        listener.bind(address)
        listener.listen(2048)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _probe_clients(listener: socket.socket) -> None:
    """Let the kernel find clients that are gone without a word. Accepted connections inherit these options."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES:
        if hasattr(socket, name):  # not on every system
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class _UvicornServer(Server):
    def __init__(self, config: Config, ready: Callable[[], None], tls: TlsListener | None) -> None:
        super().__init__(config)
        self._ready = ready
        self._tls = tls
        self._swept = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._tls is not None:
            server = await asyncio.get_running_loop().create_server(
                self._new_connection,
                sock=self._tls.listener,
                ssl=self._tls.context,
                ssl_handshake_timeout=_HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=_GRACE_SECONDS,
            )
            self.servers.append(server)
        self._ready()

    def _new_connection(self) -> asyncio.Protocol:
        protocol = cast("Callable[..., HttpConnection]", self.config.http_protocol_class)
        return protocol(self.config, self.server_state, self.lifespan.state)

    async def on_tick(self, counter: int) -> bool:
        now = anyio.current_time()
        if now - self._swept > _SWEEP_SECONDS:
            # After a pause of the event loop, requests that arrived meanwhile are read first.
            paused = now - self._swept > 2 * _SWEEP_SECONDS
            self._swept = now
            for connection in () if paused else list(self.server_state.connections):
                cast("HttpConnection", connection).close_if_late(now)
        return await super().on_tick(counter)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield
