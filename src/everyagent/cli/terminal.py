"""Terminal input: typed lines and Ctrl-C."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable

import anyio


def is_interactive() -> bool:
    """Whether a person can read a prompt on stderr and answer it on stdin."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class TerminalLines:
    """Reads lines. A cancelled read consumes nothing that is typed later."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""

    async def read(self) -> str | None:
        """The next line, or None at Ctrl-D."""
        while b"\n" not in self._rest:
            await anyio.wait_readable(self._descriptor)
            typed = os.read(self._descriptor, 65_536)
            if not typed:
                return None
            self._rest += typed
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").strip()


async def on_interrupts(first: Callable[[], Awaitable[None]], second: Callable[[], None]) -> None:
    """Call `first` at the first Ctrl-C and `second` at the next."""
    with anyio.open_signal_receiver(signal.SIGINT) as interrupts:
        seen = 0
        async for _ in interrupts:
            seen += 1
            if seen == 1:
                await first()
            else:
                second()
                return
