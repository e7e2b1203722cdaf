"""Serves the app over HTTP with uvicorn. Signals, printing and logging are the caller's."""

import contextlib
import socket
from collections.abc import Callable, Generator

import anyio
from uvicorn.config import Config
from uvicorn.server import Server

from everyagent.api.app import Api
from everyagent.api.connection import Connection

_GRACE_SECONDS = 5


async def serve(app: Api, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Serve until cancelled, then let running requests finish, for a while. `ready` hears the real port.

    Raises `OSError` when the address cannot be used.
    """
    listener = listen(host, port)
    config = Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = _Server(config, ready)
    try:
        await server.serve([listener])
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            app.readers.close()
            await server.shutdown([listener])
        raise
    finally:
        listener.close()


def listen(host: str, port: int) -> socket.socket:
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


class _Server(Server):
    def __init__(self, config: Config, ready: Callable[[int], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            self._ready(listener.getsockname()[1])

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield
