"""Event stream of one directory: opened again whenever it is lost, as long as a session listens."""

from collections.abc import Awaitable, Callable

import anyio
import httpx2

from everyagent.agents.opencode.protocol import native_event
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.agents.opencode.protocol.rest import Rest
from everyagent.logs import get_logger
from everyagent.runtime.framing import LineSplitter

#: How long a stream may take to open.
OPEN_LIMIT = 30.0
#: A server that gives no stream for this long is ended.
LOST_LIMIT = 45.0
PAUSE_SECONDS = 0.1
LONGEST_PAUSE = 2.0
#: Not about a session, and endless.
_PULSE = frozenset({"server.heartbeat"})

logger = get_logger(__name__)


class EventFeed:
    """`run` needs a task. `deliver` takes a batch and returns when there is room for more.

    `missed` is called when the stream is back after it was lost; `gone` when it does not come back.
    """

    def __init__(
        self,
        rest: Rest,
        directory: str,
        deliver: Callable[[list[NativeEvent]], Awaitable[None]],
        missed: Callable[[], None],
        gone: Callable[[], Awaitable[None]],
    ) -> None:
        self.directory = directory
        self._rest = rest
        self._deliver = deliver
        self._missed = missed
        self._gone = gone
        self._opened = anyio.Event()
        self._scope = anyio.CancelScope()
        self._lost_at: float | None = None

    async def opened(self) -> bool:
        """False if it does not open in time, or is closed."""
        with anyio.move_on_after(OPEN_LIMIT):
            await self._opened.wait()
        return self._opened.is_set() and not self._scope.cancel_called

    def close(self) -> None:
        self._scope.cancel()
        self._opened.set()

    async def run(self) -> None:
        with self._scope:
            pause = PAUSE_SECONDS
            while True:
                try:
                    if await self._listen():
                        pause = PAUSE_SECONDS
                except (httpx2.HTTPError, RuntimeError, OSError) as error:
                    logger.info("an event stream was lost", directory=self.directory, error=repr(error))
                self._lost_at = self._lost_at or anyio.current_time()
                if anyio.current_time() - self._lost_at > LOST_LIMIT:
                    await self._gone()
                    return
                await anyio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _listen(self) -> bool:
        """Read the stream to its end; False if it had no event."""
        received = False
        async with self._rest.events(self.directory) as response:
            response.raise_for_status()
            splitter = LineSplitter()
            async for chunk in response.aiter_bytes():
                events = [
                    native_event.read(body, line.cut)
                    for line in splitter.feed(chunk)
                    if (body := native_event.event(line)) is not None
                ]
                if events and not received:
                    received = True
                    self._back()
                batch = [event for event in events if event.type not in _PULSE]
                if batch:
                    await self._deliver(batch)
        return received

    def _back(self) -> None:
        """Reports missing events to sessions before the next event."""
        if self._opened.is_set():
            self._missed()
        self._lost_at = None
        self._opened.set()
