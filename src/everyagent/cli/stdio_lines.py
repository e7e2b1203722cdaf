"""Lines on stdin and stdout, for commands that speak a protocol there (`acp/`, `mcp.py`)."""

import os
from collections.abc import AsyncGenerator

import anyio
from anyio import to_thread

from everyagent.runtime.framing import Line, LineSplitter

_BLOCK = 65_536


async def read_lines(descriptor: int) -> AsyncGenerator[Line]:
    """The lines of a pipe, a terminal or a file, until its end."""
    splitter = LineSplitter()
    while True:
        try:
            await anyio.wait_readable(descriptor)
        except PermissionError:
            await anyio.lowlevel.checkpoint()  # a regular file, which is always readable
        chunk = os.read(descriptor, _BLOCK)
        for line in splitter.feed(chunk) if chunk else splitter.finish():
            yield line
        if not chunk:
            return


class LineWriter:
    """Writes lines in order. A slow reader delays the caller, never the event loop."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: list[bytes] = []
        self._lock = anyio.Lock()

    async def write(self, line: bytes) -> None:
        self._waiting.append(line + b"\n")
        async with self._lock:
            if self._waiting:  # else an earlier caller has written this line with its own
                batch, self._waiting = b"".join(self._waiting), []
                await to_thread.run_sync(self._write_all, batch)

    def _write_all(self, batch: bytes) -> None:
        rest = memoryview(batch)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
