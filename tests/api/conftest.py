import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import anyio
import anyio.abc
import httpx2
import pytest

from everyagent.api.app import create_app
from everyagent.api.connection_limits import ConnectionLimits
from everyagent.api.context import ApiSettings
from everyagent.sessions import Sessions
from tests.api.fake_sessions import FakeSessions
from tests.api.served import TOKEN, Served, serve_anywhere


@pytest.fixture
def settings() -> ApiSettings:
    return ApiSettings(token=TOKEN, origins=("https://inspector.example",), max_body=64 * 1024, max_upload=256 * 1024)


@pytest.fixture
def connection_limits() -> ConnectionLimits:
    return ConnectionLimits()


@pytest.fixture
async def served(tmp_path: Path, settings: ApiSettings, connection_limits: ConnectionLimits) -> AsyncIterator[Served]:
    directory = tmp_path / "project"
    directory.mkdir()
    sessions = FakeSessions(directory)
    app = create_app(cast(Sessions, sessions), settings)

    async def run(*, task_status: anyio.abc.TaskStatus[int]) -> None:
        await serve_anywhere(app, task_status.started, connection_limits)

    # Loading the system's certificates takes longer than a test, and there is no TLS here.
    no_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with anyio.create_task_group() as tasks:
        port = await tasks.start(run)
        url = f"http://127.0.0.1:{port}"
        async with (
            httpx2.AsyncClient(base_url=url, headers={"x-api-key": TOKEN}, verify=no_tls, timeout=30) as client,
            httpx2.AsyncClient(base_url=url, verify=no_tls, timeout=30) as stranger,
        ):
            yield Served(app, sessions, client, stranger, port, directory)
        tasks.cancel_scope.cancel()
