"""Runs a runner: keeps its connection to the daemon open, and ends its agents when it is stopped."""

import itertools
import random
import secrets
import signal
from collections.abc import Callable

import anyio
import apsw
import httpx2
import msgspec
from anyio.abc import TaskGroup

from everyagent.agents.registry import known_adapters, own_adapters
from everyagent.client.transport import reason
from everyagent.config import ConfigError, own_agents
from everyagent.logs import get_logger
from everyagent.private_files import private_folder
from everyagent.remote import wire
from everyagent.runner.host import Host, RunnerSettings
from everyagent.runner.spool import Spool
from everyagent.runner.uplink import Refused, Uplink
from everyagent.runtime.reaper import Reaper
from everyagent.signatures import ID_HEADER

_downlink = msgspec.json.Decoder(wire.Downlink)
_FIRST_DELAY, _LONGEST_DELAY = 0.1, 5.0
logger = get_logger(__name__)


class RunnerStopped(Exception):
    """The runner cannot go on. The message says why, and what to do."""


class _Pings:
    """Shows the daemon that this process does not hang. `connection` is the id of the open connection."""

    def __init__(self, uplink: Uplink) -> None:
        self.connection: str | None = None
        self._uplink = uplink

    async def send_all(self) -> None:
        """For ever."""
        for number in itertools.count(1):
            await anyio.sleep(wire.HEARTBEAT_SECONDS)
            if self.connection is None:
                continue
            try:
                await self._uplink.ping(self.connection, number)
            except Refused as error:
                logger.info("a ping was refused", error=str(error))
            except httpx2.TransportError:  # logged by the uplink
                continue


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
    uplink, reaper = Uplink(settings.url, key_id, secret), Reaper()
    try:
        async with anyio.create_task_group() as tasks:
            folder = settings.data_dir / "agents"
            known = known_adapters(tasks, folder, reaper)
            adapters = [*own_adapters(own, tasks, folder, reaper), *known]  # a known agent keeps its name
            host = Host(settings, adapters, spool, uplink, _guarded(tasks), secrets.token_hex(16))
            try:
                with anyio.CancelScope() as serving:
                    tasks.start_soon(_until_signalled, serving)
                    pings = _Pings(uplink)
                    tasks.start_soon(pings.send_all)
                    await _stay_connected(host, uplink, pings, connected)
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


async def _stay_connected(host: Host, uplink: Uplink, pings: _Pings, connected: Callable[[], None]) -> None:
    delay = _FIRST_DELAY
    while True:
        try:
            request = uplink.connect(await host.hello())
            response = await uplink.client.send(request, stream=True)
            try:
                if not response.is_success:
                    await response.aread()
                    raise Refused(response)
                uplink.outage.over()
                connected()
                pings.connection = request.headers[ID_HEADER]
                delay = _FIRST_DELAY
                async for line in response.aiter_lines():
                    if line:
                        _take(host, line)
                uplink.outage.failed("the daemon closed the connection")
            finally:
                pings.connection = None
                await response.aclose()
        except Refused as error:
            if error.final:
                raise RunnerStopped(str(error)) from error
            uplink.outage.failed(str(error))
        except httpx2.TransportError as error:
            uplink.outage.failed(reason(error))
        await anyio.sleep(delay * random.uniform(0.5, 1.0))
        delay = min(2 * delay, _LONGEST_DELAY)


def _take(host: Host, line: str) -> None:
    try:
        message = _downlink.decode(line)
    except msgspec.MsgspecError as error:
        raise RunnerStopped(f"The daemon sent what this version cannot read: {error}. Install its version.") from error
    if isinstance(message, wire.Replaced):
        raise RunnerStopped("Another runner has connected with the name of this one. Give each runner its own key.")
    host.take(message)


async def _until_signalled(serving: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            serving.cancel()
            return
