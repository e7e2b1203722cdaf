"""Serves the application over HTTP with uvicorn. The caller handles signals, output and logging."""

import contextlib
import socket
from collections.abc import Awaitable, Callable, Generator

import anyio
from uvicorn.config import Config
from uvicorn.server import Server

from everyagent.api.app import Application
from everyagent.api.connection import HttpConnection

_GRACE_SECONDS = 5


async def serve(
    app: Application, listener: socket.socket, ready: Callable[[], None], closing: Callable[[], Awaitable[None]]
) -> None:
    """Serve until cancelled, then give running requests a few seconds to finish. `ready` is called when it serves.

    `closing` is awaited before any request is cut: an agent would take a cut call of a custom tool for its result.
    """
    config = Config(
        app,
        http=HttpConnection,
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = _UvicornServer(config, ready)
    try:
        await server.serve([listener])
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await closing()
            app.readers.close()
            await server.shutdown([listener])
        raise


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket. Requests wait in its backlog until they are served. Port 0 is any free port."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


class _UvicornServer(Server):
    def __init__(self, config: Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield
