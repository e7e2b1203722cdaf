"""Runs the CLI in a pseudo terminal, reads its output and types input."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from types import TracebackType
from typing import Self

from command_line import COMMAND
from tests.waiting import LIMIT_SECONDS


class PseudoTerminal:
    def __init__(self, environment: dict[str, str], columns: int = 80) -> None:
        self.seen = ""
        # The size of the terminal counts, not that which pytest-xdist names.
        self._environment = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")}
        self._columns = columns
        self._pid = 0
        self._terminal = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        if self._terminal >= 0:
            os.close(self._terminal)

    def start(self, *words: str) -> None:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, self._columns, 0, 0))
            os.execve(COMMAND[0], [*COMMAND, *words], self._environment)

    def wait_for(self, text: str, times: int = 1) -> None:
        end = time.monotonic() + LIMIT_SECONDS
        while self.seen.count(text) < times:
            assert time.monotonic() < end, f"never saw {text!r} in: {self.seen}"
            if not self._read(0.2):
                raise AssertionError(f"ended without {text!r}: {self.seen}")

    def type(self, line: str) -> None:
        os.write(self._terminal, line.encode() + b"\n")

    def signal(self, number: int) -> None:
        os.kill(self._pid, number)

    def end(self) -> int:
        """Read until the CLI ends, and return its exit code."""
        end = time.monotonic() + LIMIT_SECONDS
        while self._read(0.2):
            assert time.monotonic() < end, f"never ended: {self.seen}"
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)

    def _read(self, seconds: float) -> bool:
        """False if the CLI has closed the terminal."""
        ready, _, _ = select.select([self._terminal], [], [], seconds)
        if not ready:
            return True
        try:
            typed = os.read(self._terminal, 65_536)
        except OSError:
            return False
        self.seen += typed.decode(errors="replace")
        return bool(typed)
