"""A server for tests, and those who talk to it."""

from pathlib import Path
from typing import NamedTuple

import httpx2

from everyagent.api.app import Api
from tests.api.fake_sessions import FakeSessions

TOKEN = "a-token-for-tests"


class Served(NamedTuple):
    """A server with the fake facade behind it. `client` has the token, `stranger` has not."""

    app: Api
    sessions: FakeSessions
    client: httpx2.AsyncClient
    stranger: httpx2.AsyncClient
    port: int
    directory: Path
