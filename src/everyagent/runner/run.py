"""Runs a runner: keeps its connection to the daemon open, and ends its agents when it is stopped."""

import secrets
import signal
from collections.abc import Callable

import anyio
import apsw
from anyio.abc import TaskGroup

from everyagent.agents.registry import known_adapters, own_adapters
from everyagent.config import ConfigError, own_agents
from everyagent.logs import get_logger
from everyagent.private_files import private_folder
from everyagent.runner.downlink import Downlink, RunnerStopped
from everyagent.runner.host import Host, RunnerSettings
from everyagent.runner.spool import Spool
from everyagent.runner.uplink import Uplink
from everyagent.runtime.reaper import Reaper

logger = get_logger(__name__)


async def run(settings: RunnerSettings, key_id: str, secret: bytes, connected: Callable[[], None]) -> None:
    """Until SIGINT or SIGTERM. `connected` is called at each connection. Raises `RunnerStopped`."""
    private_folder(settings.folder)
    try:
        own = own_agents()
    except ConfigError as problem:
        raise RunnerStopped(str(problem)) from problem
    try:
        spool = Spool(settings.folder / "spool.db")
    except apsw.BusyError as error:
        raise RunnerStopped(f"Another runner with this key uses {settings.folder}. Stop it first.") from error
    except apsw.Error as error:
        raise RunnerStopped(f"The spool in {settings.folder} cannot be used: {error}.") from error
    uplink, reaper = Uplink(settings.url, key_id, secret), Reaper()
    stopped: RunnerStopped | None = None
    try:
        async with anyio.create_task_group() as tasks:
            folder = settings.data_dir / "agents"
            known = known_adapters(tasks, folder, reaper)
            adapters = [*own_adapters(own, tasks, folder, reaper), *known]  # a known agent keeps its name
            host = Host(settings, adapters, spool, uplink, _guarded(tasks), secrets.token_hex(16))
            try:
                with anyio.CancelScope() as serving:
                    tasks.start_soon(_until_signalled, serving)
                    await Downlink(host, uplink, connected, tasks).stay_connected()
            except RunnerStopped as error:  # raised after the task group, which would wrap it in a group
                stopped = error
            finally:
                with anyio.CancelScope(shield=True):
                    await host.close()
                    for adapter in adapters:
                        await adapter.close()
                    await reaper.close()
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await uplink.close()
        spool.close()
    if stopped:
        raise stopped


def _guarded(tasks: TaskGroup) -> Callable[..., None]:
    """A fault in one conversation is logged, and does not end the others."""

    def spawn(function: Callable[..., object], *args: object) -> None:
        async def run() -> None:
            try:
                await function(*args)  # pyright: ignore[reportGeneralTypeIssues]
            except Exception:
                logger.exception("a conversation's task failed")

        tasks.start_soon(run)

    return spawn


async def _until_signalled(serving: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            serving.cancel()
            return
