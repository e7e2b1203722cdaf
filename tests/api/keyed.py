"""A server with real sessions and a mock agent, and clients with API keys."""

import ssl
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import httpx2

from everyagent.access.keyring import Keyring
from everyagent.api.app import Application, create_app
from everyagent.api.context import ApiSettings
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.lazy_managed import LazyManaged
from everyagent.sessions.limits import Limits
from tests.api.served import TOKEN, serve_anywhere
from tests.waiting import LIMIT_SECONDS

SCOPES = ["read", "run", "answer", "admin"]


class Keyed:
    """`owner` has the owner's token."""

    def __init__(self, url: str, app: Application, keys: Keyring, folder: Path, stack: AsyncExitStack) -> None:
        self.app = app
        self.keys = keys
        self.folder = folder
        self._url = url
        self._stack = stack

    async def client(self, token: str, **headers: str) -> httpx2.AsyncClient:
        no_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        named = {"x-api-key": token} | headers
        client = httpx2.AsyncClient(base_url=self._url, headers=named, verify=no_tls, timeout=LIMIT_SECONDS)
        return await self._stack.enter_async_context(client)

    async def owner(self) -> httpx2.AsyncClient:
        return await self.client(TOKEN)

    async def key(self, workspace: str, *scopes: str, **more: object) -> tuple[str, httpx2.AsyncClient]:
        """The id of a new key, and a client with it."""
        asked = {"name": f"{workspace} key", "workspace": workspace, "scopes": scopes or SCOPES} | more
        made = await (await self.owner()).post("/v1/keys", json=asked)
        assert made.status_code == 200, made.text
        return made.json()["key"]["keyId"], await self.client(made.json()["secret"])


@asynccontextmanager
async def keyed(
    folder: Path, *, token_file: Path | None = None, key_directory: Path | None = None
) -> AsyncGenerator[Keyed]:
    settings = Settings(data_dir=folder / "data", default_agent="mock")
    lazy = LazyManaged()
    async with (
        sessions_of(settings, limits=Limits(), managed=lazy) as sessions,
        anyio.create_task_group() as tasks,
        AsyncExitStack() as stack,
    ):
        api_settings = ApiSettings(
            token=TOKEN, token_file=token_file, data_dir=settings.data_dir, key_directory=key_directory
        )
        app = create_app(sessions, api_settings, managed=lambda: lazy.managed)

        async def run(*, task_status: anyio.abc.TaskStatus[int]) -> None:
            await serve_anywhere(app, task_status.started)

        port = await tasks.start(run)
        assert sessions.services.keys
        yield Keyed(f"http://127.0.0.1:{port}", app, sessions.services.keys, folder, stack)
        await stack.aclose()
        tasks.cancel_scope.cancel()
