"""The exit status of a child process, and a callback for its end."""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable

from msgspec import Struct


class Exit(Struct, frozen=True, kw_only=True):
    """An exit code, or the name of the signal that killed the process."""

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
    """Call back once in the running loop when the child has ended. With pidfds, the child is not reaped yet."""
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
