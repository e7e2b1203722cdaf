"""A daemon for one command: the one that runs, or else our own, in this process, for as long as we need it."""

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskStatus
from msgspec import Struct, structs

from everyagent import logs
from everyagent.cli.exits import Exit, Failure
from everyagent.cli.target import Target
from everyagent.client import AsyncClient, ClientError
from everyagent.config import Settings

if TYPE_CHECKING:
    from everyagent.daemon import Running


class Reached(Struct, frozen=True):
    """`own`: it goes when the command ends."""

    client: AsyncClient
    own: bool


@asynccontextmanager
async def reach(target: Target) -> AsyncGenerator[Reached]:
    """The running daemon, else our own with the same data."""
    async with target.async_client() as client:
        if await answers(target, client):
            yield Reached(client, own=False)
            return
    async with _running(target.settings()) as running, AsyncClient(running.url, running.token) as client:
        yield Reached(client, own=True)


@asynccontextmanager
async def reach_agents(target: Target) -> AsyncGenerator[Reached]:
    """The running daemon, else our own over an empty log: asking for agents must not wake sessions up."""
    async with target.async_client() as client:
        if await answers(target, client):
            yield Reached(client, own=False)
            return
    settings = target.settings()
    with tempfile.TemporaryDirectory(prefix="everyagent-") as empty:
        installed = settings.data_dir / "agents"
        installed.mkdir(mode=0o700, parents=True, exist_ok=True)
        (Path(empty) / "agents").symlink_to(installed)
        settings = structs.replace(settings, data_dir=Path(empty))
        async with _running(settings) as running, AsyncClient(running.url, running.token) as client:
            yield Reached(client, own=True)


async def answers(target: Target, client: AsyncClient) -> bool:
    """An address that was asked for by name must answer; nothing takes its place.

    One that does not take our token is somebody else's daemon.
    """
    try:
        await client.sessions(limit=1)
    except ClientError:
        if target.names_one():
            raise
        return False
    return True


@asynccontextmanager
async def _running(settings: Settings) -> AsyncGenerator["Running"]:
    logs.set_up(settings.log_format, "warning")
    async with anyio.create_task_group() as group:
        running: Running = await group.start(_run, structs.replace(settings, host="127.0.0.1", port=0))
        try:
            yield running
        finally:
            group.cancel_scope.cancel()


async def _run(settings: Settings, *, task_status: TaskStatus["Running"]) -> None:
    from everyagent import daemon

    await daemon.run(settings, ready=task_status.started)
    raise Failure("Told to stop.", Exit.INTERRUPTED)
