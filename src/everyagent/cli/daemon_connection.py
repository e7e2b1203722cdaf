"""Connects a command to the running daemon, or to an embedded one that lives as long as the command."""

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskStatus
from msgspec import Struct, structs

from everyagent import logs
from everyagent.cli.daemon_options import DaemonOptions, NoDaemon
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.client import AsyncClient, ClientError
from everyagent.config import Settings
from everyagent.private_files import private_folder

if TYPE_CHECKING:
    from everyagent.daemon import RunningDaemon


class DaemonConnection(Struct, frozen=True):
    """`embedded`: the daemon runs in this process and stops when the command ends."""

    client: AsyncClient
    embedded: bool


@asynccontextmanager
async def connect(options: DaemonOptions) -> AsyncGenerator[DaemonConnection]:
    """Connect to the running daemon, else start one on the same data folder."""
    async with _found(options) as client:
        if client:
            yield DaemonConnection(client, embedded=False)
            return
    async with _running(options.settings()) as running, AsyncClient(running.url, running.token) as client:
        yield DaemonConnection(client, embedded=True)


@asynccontextmanager
async def connect_without_sessions(options: DaemonOptions) -> AsyncGenerator[DaemonConnection]:
    """Connect to the running daemon, else start one on an empty log, so that listing agents resumes no session."""
    async with _found(options) as client:
        if client:
            yield DaemonConnection(client, embedded=False)
            return
    settings = options.settings()
    with tempfile.TemporaryDirectory(prefix="everyagent-") as empty:
        installed = settings.data_dir / "agents"
        private_folder(settings.data_dir)
        installed.mkdir(mode=0o700, parents=True, exist_ok=True)
        (Path(empty) / "agents").symlink_to(installed)
        settings = structs.replace(settings, data_dir=Path(empty))
        async with _running(settings) as running, AsyncClient(running.url, running.token) as client:
            yield DaemonConnection(client, embedded=True)


@asynccontextmanager
async def _found(options: DaemonOptions) -> AsyncGenerator[AsyncClient | None]:
    """A client of the running daemon, None if there is none."""
    try:
        opened = options.async_client()
    except NoDaemon:
        yield None
        return
    async with opened as client:
        yield client if await _answers(options, client) else None


async def _answers(options: DaemonOptions, client: AsyncClient) -> bool:
    """Whether a daemon answers and accepts our token. Raises if the user named its address explicitly."""
    try:
        await client.me()
    except ClientError:
        if options.url_given():
            raise
        return False
    return True


@asynccontextmanager
async def _running(settings: Settings) -> AsyncGenerator["RunningDaemon"]:
    logs.set_up(settings.log_format, "warning")
    async with anyio.create_task_group() as group:
        running: RunningDaemon = await group.start(_run, structs.replace(settings, host="127.0.0.1", port=0))
        try:
            yield running
        finally:
            group.cancel_scope.cancel()


async def _run(settings: Settings, *, task_status: TaskStatus["RunningDaemon"]) -> None:
    from everyagent import daemon

    await daemon.run(settings, ready=task_status.started)
    raise CliFailure("Stopped by a signal.", ExitCode.INTERRUPTED)
