"""A server for tests, and its clients."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio.lowlevel
import httpx2

from everyagent.api.app import Application
from everyagent.api.connection_limits import ConnectionLimits
from everyagent.api.server import listen, serve
from tests.api.fake_sessions import FakeSessions

TOKEN = "a-token-for-tests"


class Served(NamedTuple):
    """A server with fake sessions. `client` has the token, `stranger` does not."""

    app: Application
    sessions: FakeSessions
    client: httpx2.AsyncClient
    stranger: httpx2.AsyncClient
    port: int
    directory: Path


async def serve_anywhere(
    app: Application, ready: Callable[[int], None], limits: ConnectionLimits | None = None
) -> None:
    """Serve on a free port, which is passed to `ready`."""
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        await serve(app, listener, lambda: ready(port), anyio.lowlevel.checkpoint, limits or ConnectionLimits())
