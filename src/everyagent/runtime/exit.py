"""How a child process ended, and how the event loop gets to know."""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable

from msgspec import Struct


class Exit(Struct, frozen=True, kw_only=True):
    """Either a code, or the name of the signal that ended it."""

    code: int | None = None
    signal: str | None = None

    def __str__(self) -> str:
        return f"exit code {self.code}" if self.signal is None else self.signal

    @classmethod
    def of(cls, returncode: int) -> "Exit":
        if returncode >= 0:
            return cls(code=returncode)
        try:
            return cls(signal=signal.Signals(-returncode).name)
        except ValueError:
            return cls(signal=f"signal {-returncode}")


def on_exit(child: subprocess.Popen[bytes], call: Callable[[], None]) -> None:
    """Call once, in the running loop, when the child has ended: not reaped yet where the system has pidfds."""
    loop = asyncio.get_running_loop()
    if hasattr(os, "pidfd_open"):
        handle = os.pidfd_open(child.pid)

        def ended() -> None:
            loop.remove_reader(handle)
            os.close(handle)
            call()

        loop.add_reader(handle, ended)
    else:

        def wait() -> None:
            child.wait()
            loop.call_soon_threadsafe(call)

        threading.Thread(target=wait, name=f"wait-{child.pid}", daemon=True).start()
