"""A server for tests, and those who talk to it."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio.lowlevel
import httpx2

from everyagent.api.app import Application
from everyagent.api.server import listen, serve
from tests.api.fake_sessions import FakeSessions

TOKEN = "a-token-for-tests"


class Served(NamedTuple):
    """A server with the fake facade behind it. `client` has the token, `stranger` has not."""

    app: Application
    sessions: FakeSessions
    client: httpx2.AsyncClient
    stranger: httpx2.AsyncClient
    port: int
    directory: Path


async def serve_anywhere(app: Application, ready: Callable[[int], None]) -> None:
    """On a free port, which `ready` hears."""
    with listen("127.0.0.1", 0) as listener:
        await serve(app, listener, lambda: ready(listener.getsockname()[1]), anyio.lowlevel.checkpoint)
