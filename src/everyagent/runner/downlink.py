"""The runner's connection to its daemon: opened again whenever it is lost, and kept by pings."""

import itertools
import random
from collections.abc import Callable
from typing import Protocol

import anyio
import httpx2
import msgspec
from anyio.abc import TaskGroup

from everyagent.client.transport import reason
from everyagent.logs import get_logger
from everyagent.remote import wire
from everyagent.runner.uplink import Refused, Uplink
from everyagent.signatures import ID_HEADER

_decode = msgspec.json.Decoder(wire.Downlink).decode
_FIRST_DELAY, _LONGEST_DELAY = 0.1, 5.0
logger = get_logger(__name__)


class RunnerStopped(Exception):
    """The runner cannot go on. The message says why, and what to do."""


class NotUnderstood(Exception):
    """A message of the connection cannot be read."""


class Commanded(Protocol):
    """The host, which the daemon's messages are for."""

    async def hello(self) -> wire.Hello: ...
    def take(self, message: wire.Command | wire.Welcome | wire.Forget) -> None: ...


class Downlink:
    """`connected` is called when the daemon has welcomed the runner. Pings are sent in `tasks`."""

    def __init__(self, host: Commanded, uplink: Uplink, connected: Callable[[], None], tasks: TaskGroup) -> None:
        self._host = host
        self._uplink = uplink
        self._connected = connected
        self._delay = _FIRST_DELAY
        #: The id of the open connection.
        self._connection: str | None = None
        tasks.start_soon(self._ping)

    async def stay_connected(self) -> None:
        """For ever. Raises `RunnerStopped` if the daemon says that it will not help to connect again."""
        while True:
            try:
                await self._connect()
            except Refused as error:
                if error.final:
                    raise RunnerStopped(str(error)) from error
                self._uplink.outage.failed(str(error))
            except NotUnderstood as error:
                self._uplink.outage.failed(str(error))
            except httpx2.RequestError as error:
                self._uplink.outage.failed(reason(error))
            finally:
                self._connection = None
            await anyio.sleep(self._delay * random.uniform(0.5, 1.0))
            self._delay = min(2 * self._delay, _LONGEST_DELAY)

    async def _connect(self) -> None:
        """Until the connection is lost."""
        request = self._uplink.connect(await self._host.hello())
        response = await self._uplink.client.send(request, stream=True)
        try:
            if not response.is_success:
                await response.aread()
                raise Refused(response)
            async for line in response.aiter_lines():
                if line:
                    self._take(line, request)
            self._uplink.outage.failed("the daemon closed the connection")
        finally:
            await response.aclose()

    def _take(self, line: str, request: httpx2.Request) -> None:
        try:
            message: wire.Downlink = _decode(line)
        except wire.UNREADABLE as error:
            raise NotUnderstood(f"The answer is of a proxy, or of a daemon of another version: {error}") from error
        match message:
            case wire.Replaced():
                raise RunnerStopped(
                    "Another runner has connected with the name of this one. Give each runner its own key."
                )
            case wire.Welcome():
                self._delay = _FIRST_DELAY
                self._connection = request.headers[ID_HEADER]
                self._uplink.outage.over()
                self._connected()
            case wire.Command() | wire.Forget():
                pass
        self._host.take(message)

    async def _ping(self) -> None:
        """For ever: show the daemon that this process does not hang."""
        for number in itertools.count(1):
            await anyio.sleep(wire.HEARTBEAT_SECONDS)
            if self._connection is None:
                continue
            try:
                await self._uplink.ping(self._connection, number)
            except Refused as error:
                logger.info("a ping was refused", error=str(error))
            except httpx2.RequestError:  # logged by the uplink
                continue
