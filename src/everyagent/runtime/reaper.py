"""Kills the processes that a daemon started, even after the daemon was killed. One per daemon; used at each spawn."""

import secrets
import subprocess
import sys
from functools import partial

import anyio
from anyio import to_thread

from everyagent.runtime import process_tree
from everyagent.runtime.environment import DAEMON_MARKER, SPAWN_MARKER
from everyagent.runtime.limit_watch import LimitWatch

CLOSE_LIMIT = 10.0


class Reaper:
    """Runs a watcher process in its own session that notices the daemon's end by the end of a pipe.

    `boot_id` marks all processes of this daemon, so that the watcher finds them. `limits` ends those that use too much.
    """

    def __init__(self) -> None:
        self.boot_id = secrets.token_hex(8)
        self.limits = LimitWatch()
        self._watcher: subprocess.Popen[bytes] | None = None
        self._snapshots = _Snapshots()

    def watch(self) -> None:
        """Call before each spawn: starts the watcher, again if it was killed."""
        if self._watcher:
            if self._watcher.poll() is None:
                return
            _let_go(self._watcher)
        self._watcher = subprocess.Popen(
            [sys.executable, "-I", "-S", process_tree.__file__, DAEMON_MARKER, self.boot_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            bufsize=0,
            start_new_session=True,
        )

    def marks(self, spawn: str) -> dict[str, str]:
        """The variables that mark a spawned process and its descendants."""
        return {DAEMON_MARKER: self.boot_id, SPAWN_MARKER: spawn}

    async def kill_spawn(self, spawn: str, *, limit: float) -> bool:
        """Kill all processes of one spawn. False if some are left after `limit` seconds."""
        known: set[process_tree.ProcessEntry] = set()
        with anyio.move_on_after(limit) as scope:
            while known := process_tree.members(await self._snapshots.take(), spawn, known):
                process_tree.kill(known)
                await anyio.sleep(0.005)
        return not scope.cancelled_caught

    async def close(self) -> None:
        """Stop the watcher at a regular shutdown. It kills remaining processes first."""
        self.limits.close()
        if self._watcher:
            _let_go(self._watcher)
            await to_thread.run_sync(partial(_await_end, self._watcher))
            self._watcher = None


class _Snapshots:
    """Takes snapshots of all processes. Callers that arrive while one is taken share the next one."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._next = 0  # number of the snapshot that will begin next
        self._latest: list[process_tree.ProcessEntry] = []

    async def take(self) -> list[process_tree.ProcessEntry]:
        """A snapshot that was started after this call."""
        wanted = self._next
        async with self._lock:
            if self._next == wanted:
                self._next += 1
                self._latest = await to_thread.run_sync(process_tree.snapshot, SPAWN_MARKER)
            return self._latest


def _let_go(watcher: subprocess.Popen[bytes]) -> None:
    assert watcher.stdin
    watcher.stdin.close()


def _await_end(watcher: subprocess.Popen[bytes]) -> None:
    try:
        watcher.wait(CLOSE_LIMIT)
    except subprocess.TimeoutExpired:
        watcher.kill()
        watcher.wait(CLOSE_LIMIT)
