"""Writes whole frames to a child's stdin, in order, with limits of size and time."""

import os
from typing import IO

import anyio

from everyagent.errors import AgentFailed

#: Limits of the bytes that wait to be written, and of the seconds of one write.
PENDING_LIMIT = 128 * 1024 * 1024
WRITE_LIMIT = 60.0


class Stdin:
    """A frame is written whole or the pipe is closed: half a frame would corrupt all later ones."""

    def __init__(self, pipe: IO[bytes], *, time_limit: float = WRITE_LIMIT) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._time_limit = time_limit
        self._turn = anyio.Lock()
        self._pending = 0

    async def write(self, data: bytes) -> None:
        """Write all data to the pipe. Raises `AgentFailed`."""
        if self._pending + len(data) > PENDING_LIMIT:
            raise AgentFailed("The agent does not read its input: too much data waits to be written.")
        self._pending += len(data)
        try:
            async with self._turn:
                await self._write_whole(data)
        finally:
            self._pending -= len(data)

    def close(self) -> None:
        if not self._pipe.closed:
            anyio.notify_closing(self._pipe.fileno())
            self._pipe.close()

    async def _write_whole(self, data: bytes) -> None:
        rest = memoryview(data)
        with anyio.move_on_after(self._time_limit, shield=True) as scope:
            while rest:
                rest = rest[await self._write_some(rest) :]
        if scope.cancelled_caught:
            self.close()
            raise AgentFailed(f"The agent did not read its input for {self._time_limit:.0f} seconds.")

    async def _write_some(self, rest: memoryview) -> int:
        if self._pipe.closed:
            raise AgentFailed("The agent's input is closed.")
        try:
            return os.write(self._pipe.fileno(), rest)
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.close()
            raise AgentFailed("The agent has closed its input: it is ending or has died.") from None
        try:
            await anyio.wait_writable(self._pipe.fileno())
        except anyio.ClosedResourceError:
            raise AgentFailed("The agent's input was closed while it was being written to.") from None
        return 0
