"""Finds and kills process trees by a marker in their environment.

Uses only the standard library. Run as a program (`process_tree.py NAME VALUE`), it waits for the end of its stdin,
which is the end of the daemon, and then kills all processes with the marker.
"""

import os
import signal
import sys
import time
from collections.abc import Collection
from typing import NamedTuple


class ProcessEntry(NamedTuple):
    """A running process. `start` distinguishes it from a later one with the same pid; `mark` is its marker's value."""

    pid: int
    start: int
    parent: int
    mark: str | None


def snapshot(marker: str) -> list[ProcessEntry]:
    """All running processes except this one; `marker` is the variable to read. Empty without /proc."""
    try:
        names = os.listdir("/proc")
    except FileNotFoundError:
        return []
    own = os.getpid()
    pids = (int(name) for name in names if name.isdecimal())
    return [entry for pid in pids if pid != own and (entry := _entry(pid, marker))]


def members(entries: Collection[ProcessEntry], mark: str, known: Collection[ProcessEntry] = ()) -> set[ProcessEntry]:
    """Processes with the mark, those in `known` that still run, and the descendants of both.

    Parent links find a child that cleared its environment; the mark finds one that left its parent and its group.
    """
    alive = {entry[:2] for entry in known}
    return _with_descendants(entries, {entry for entry in entries if entry.mark == mark or entry[:2] in alive})


def _with_descendants(entries: Collection[ProcessEntry], found: set[ProcessEntry]) -> set[ProcessEntry]:
    children: dict[int, list[ProcessEntry]] = {}
    for entry in entries:
        children.setdefault(entry.parent, []).append(entry)
    waiting = list(found)
    while waiting:
        new = [child for child in children.get(waiting.pop().pid, ()) if child not in found]
        found.update(new)
        waiting += new
    return found


def kill(entries: Collection[ProcessEntry]) -> None:
    """Send SIGKILL to each, unless its pid belongs to another process by now."""
    _signal(entries, signal.SIGKILL)


def _signal(entries: Collection[ProcessEntry], number: signal.Signals) -> None:
    for pid, start, _, _ in entries:
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            if (now := _stat(pid)) and now[0] == start:
                signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            continue
        finally:
            os.close(handle)


def kill_descendants(root: int) -> None:
    """Kill everything below a process, which collects orphans and ends with its last child.

    All are stopped first: a stopped process starts no others, so that also a flood of processes comes to its end.
    """
    stopped: set[ProcessEntry] = set()
    while True:
        entries = snapshot("")
        below = _with_descendants(entries, {entry for entry in entries if entry.parent == root})
        new = below - stopped
        if not new:
            break
        _signal(new, signal.SIGSTOP)
        stopped |= new
    kill(stopped)


def kill_marked(marker: str, mark: str, *, limit: float) -> bool:
    """Kill processes with the mark until none is left. False if some are left after `limit` seconds."""
    deadline = time.monotonic() + limit
    known: set[ProcessEntry] = set()
    while known := members(snapshot(marker), mark, known):
        kill(known)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def _entry(pid: int, marker: str) -> ProcessEntry | None:
    stat = _stat(pid)
    return ProcessEntry(pid, *stat, _mark(pid, marker)) if stat else None


def _stat(pid: int) -> tuple[int, int] | None:
    """Start time and parent; None for a process that has ended or is a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            stat = file.read()
    except OSError:
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()  # the command's name may contain ")"
    return None if fields[0] in b"ZX" else (int(fields[19]), int(fields[1]))


def _mark(pid: int, marker: str) -> str | None:
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            environment = b"\0" + file.read()
    except OSError:
        return None
    _, found, value = environment.rpartition(f"\0{marker}=".encode())
    return value.partition(b"\0")[0].decode(errors="replace") if found else None


def _watch(marker: str, mark: str) -> None:
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    while os.read(0, 4096):
        continue
    kill_marked(marker, mark, limit=60)


if __name__ == "__main__":
    _watch(*sys.argv[1:])
