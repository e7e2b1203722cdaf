"""Watches what limited processes use, and ends those that exceed a limit. One for each daemon."""

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from anyio import CapacityLimiter, to_thread
from msgspec.structs import replace

from everyagent.logs import get_logger
from everyagent.runtime import usage
from everyagent.runtime.limits import LimitHit, ProcessLimits

#: Seconds between two looks at the processes, and at folders.
EVERY = 0.25
EVERY_FOLDERS = 1.0
#: A look that needs much CPU time is followed by a pause that is this many times longer, up to a limit. The time that
#: passes does not count: while an agent floods the machine, every look takes long.
PAUSE = 20
LONGEST_PAUSE = 2.0
logger = get_logger(__name__)


class Watched(Protocol):
    """A process with limits. `memory_folders` are file systems in memory that belong to it."""

    @property
    def pid(self) -> int: ...
    @property
    def limits(self) -> ProcessLimits: ...
    @property
    def memory_folders(self) -> Sequence[str]: ...
    def exceeded(self, hit: LimitHit) -> None: ...


class LimitWatch:
    def __init__(self) -> None:
        self._watched: set[Watched] = set()
        self._task: asyncio.Task[None] | None = None
        self._measuring: dict[Watched, asyncio.Task[None]] = {}
        self._exact: CapacityLimiter | None = None
        self._folders_at = 0.0

    def add(self, process: Watched) -> None:
        self._watched.add(process)
        if self._task is None or self._task.done():
            self._exact = CapacityLimiter(4)
            self._task = asyncio.create_task(self._run(CapacityLimiter(1)))

    def remove(self, process: Watched) -> None:
        self._watched.discard(process)

    def close(self) -> None:
        for task in (self._task, *self._measuring.values()):
            if task:
                task.cancel()

    async def _run(self, thread: CapacityLimiter) -> None:
        """Ends when nothing is watched any more."""
        pause = EVERY
        while self._watched:
            await asyncio.sleep(pause)
            look = partial(self._look, tuple(self._watched))
            try:
                hits, seconds = await to_thread.run_sync(look, limiter=thread)
            except Exception:  # such as no free file descriptor: the next look comes soon
                logger.exception("the use of agents could not be measured")
                continue
            for process, hit in hits:
                if process not in self._watched:
                    continue
                if hit.name != "memory":
                    process.exceeded(hit)
                elif process not in self._measuring:
                    self._measuring[process] = asyncio.create_task(self._measure(process, hit))
            pause = min(max(EVERY, seconds * PAUSE), LONGEST_PAUSE)

    async def _measure(self, process: Watched, hit: LimitHit) -> None:
        """Ends a process that uses too much memory also if pages that it shares are counted once.

        This can take long while an agent floods the machine, because the kernel locks the memory that it reads; the
        looks at the processes go on meanwhile.
        """
        try:
            used = await to_thread.run_sync(_memory, process, limiter=self._exact, abandon_on_cancel=True)
            if used > hit.limit and process in self._watched:
                process.exceeded(replace(hit, used=used))
        finally:
            del self._measuring[process]

    def _look(self, watched: Sequence[Watched]) -> tuple[list[tuple[Watched, LimitHit]], float]:
        """The processes over a limit, and the seconds of CPU time that it took. Blocking."""
        cpu = time.thread_time()
        tree = usage.process_tree()
        began = time.monotonic()
        folders = began >= self._folders_at
        found = [(process, hit) for process in watched if (hit := _exceeded(process, tree, folders=folders))]
        if folders:
            self._folders_at = began + max(EVERY_FOLDERS, (time.monotonic() - began) * PAUSE)
        return found, time.thread_time() - cpu


def _exceeded(process: Watched, tree: usage.Tree, *, folders: bool) -> LimitHit | None:
    """The limit that a process exceeds. Its memory is an estimate: pages that processes share count several times."""
    limits = process.limits.values
    members = usage.members(tree, process.pid)
    tasks = sum(each.threads for each in members)
    if limits.processes and tasks > limits.processes:
        return LimitHit("processes", tasks, limits.processes)
    if limits.memory:
        used = sum(each.memory for each in members) + usage.mounted(process.pid, process.memory_folders)
        if used > limits.memory:
            return LimitHit("memory", used, limits.memory)
    if limits.disk and folders:
        used = usage.folder_size(process.limits.folders)
        if used > limits.disk:
            return LimitHit("disk", used, limits.disk)
    return None


def _memory(process: Watched) -> int:
    """Blocking."""
    members = usage.members(usage.process_tree(), process.pid)
    return usage.memory_of(members) + usage.mounted(process.pid, process.memory_folders)
