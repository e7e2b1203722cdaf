"""Back-pressure: the bytes that wait for their commit, of each session and of all. Used by the actors."""

import asyncio

from everyagent.log.log import Append
from everyagent.sessions.limits import Limits

#: What an event or frame takes in memory beside its body.
_OVERHEAD = 400


class TotalBacklog:
    """The backlog of all sessions together."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.bytes = 0
        self._less = asyncio.Event()

    def changed(self) -> None:
        """Wake everybody who waits for room."""
        self._less.set()
        self._less = asyncio.Event()

    async def until_changed(self) -> None:
        await self._less.wait()


class Backlog:
    """The backlog of one session. Agents are not read while it, or the total, is over its limit."""

    def __init__(self, total: TotalBacklog) -> None:
        self._total = total
        self._bytes = 0
        self._closed = False

    def add(self, append: Append) -> int:
        """Count what waits. Returns its size, which `remove` takes."""
        size = _OVERHEAD * (len(append.events) + len(append.frames))
        size += sum([len(event.body) for event in append.events])  # a list is quicker than a generator
        size += sum([len(frame.body) for frame in append.frames])
        self._bytes += size
        self._total.bytes += size
        return size

    def remove(self, size: int) -> None:
        """It was committed, or never will be."""
        self._bytes -= size
        self._total.bytes -= size
        self._total.changed()

    async def room(self) -> None:
        """Returns when more may be read from the agent."""
        total, limits = self._total, self._total.limits
        while not self._closed and (
            self._bytes > limits.max_waiting_bytes or total.bytes > limits.max_waiting_bytes_in_all
        ):
            await total.until_changed()

    def close(self) -> None:
        """The session is lost: nobody waits for it any more."""
        self._closed = True
        self._total.changed()
