"""Checks which processes are running."""

from collections.abc import Callable
from pathlib import Path

import anyio
from tests.waiting import LIMIT_SECONDS


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def wait_until(met: Callable[[], bool], every: float = 0.01) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while not met():
            await anyio.sleep(every)


async def wait_for_pid(file: Path) -> int:
    await wait_until(lambda: file.exists() and bool(file.read_text().strip()))
    return int(file.read_text())
