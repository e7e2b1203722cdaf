"""Pauses a process of a test."""

import os
import signal
from pathlib import Path

from tests.waiting import wait_until


def pause(pid: int) -> None:
    """Stop a process with SIGSTOP. Returns when all its threads stand still.

    The signal alone is not enough: until the kernel runs the thread that takes it, the others go on, and may answer.
    """
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: all(state == b"T" for state in _states(pid)), f"process {pid} goes on after SIGSTOP")


def _states(pid: int) -> list[bytes]:
    return [stat.read_bytes().rpartition(b")")[2].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
