"""Measures the memory, processes and disk space that a process uses with all its descendants. Blocking; needs /proc."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

_PAGE = os.sysconf("SC_PAGE_SIZE")


class ProcessUse(NamedTuple):
    """`memory` is resident, in bytes, with pages that other processes share. `session` is a process id, too."""

    pid: int
    parent: int
    session: int
    memory: int
    threads: int


class Tree(NamedTuple):
    """All processes, by the process that each belongs to: its parent and its session."""

    children: Mapping[int, list[ProcessUse]]
    sessions: Mapping[int, list[ProcessUse]]


def process_tree() -> Tree:
    children, sessions = defaultdict[int, list[ProcessUse]](list), defaultdict[int, list[ProcessUse]](list)
    for name in os.listdir("/proc"):
        if name.isdecimal() and (found := _read(int(name))):
            children[found.parent].append(found)
            sessions[found.session].append(found)
    return Tree(children, sessions)


def members(tree: Tree, root: int) -> list[ProcessUse]:
    """The descendants of the leader of a session, and all processes in their sessions.

    Parents that end while the tree is read leave children whose parents are not in it; their session still finds them.
    """
    found: dict[int, ProcessUse] = {}
    waiting, sessions = [root], set[int]()
    while waiting:
        pid = waiting.pop()
        new = [*tree.children.get(pid, ())]
        session = found[pid].session if pid in found else root
        if session not in sessions:
            sessions.add(session)
            new += tree.sessions.get(session, ())
        fresh = {each.pid: each for each in new if each.pid not in found and each.pid != root}
        found |= fresh
        waiting += fresh
    return list(found.values())


def memory_of(processes: Iterable[ProcessUse]) -> int:
    """Their memory, with the pages that they share counted once. Slower than adding up what the tree has."""
    return sum(_proportional(each) for each in processes)


def mounted(pid: int, folders: Iterable[str]) -> int:
    """Bytes in the file systems in memory that a process behind a wall has at these paths.

    A process that has not built its wall yet sees the machine's folders, which do not count.
    """
    total = 0
    for folder in folders:
        inside = f"/proc/{pid}/root{folder}"
        try:
            if os.path.exists(folder) and os.stat(inside).st_dev == os.stat(folder).st_dev:
                continue
            stat = os.statvfs(inside)
        except OSError:  # the process has ended, or another user's may not be looked at
            continue
        total += (stat.f_blocks - stat.f_bfree) * stat.f_frsize
    return total


def folder_size(folders: Iterable[Path]) -> int:
    """Bytes on the disk of everything in the folders. A file with several names counts once; links are not followed."""
    total, seen = 0, set[tuple[int, int]]()
    waiting = [str(folder) for folder in folders]
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:  # removed meanwhile, or not readable
            continue
        with entries:
            for entry in entries:
                try:
                    stat = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                except OSError:
                    continue
                if stat.st_nlink == 1 or (stat.st_dev, stat.st_ino) not in seen:
                    seen.add((stat.st_dev, stat.st_ino)) if stat.st_nlink > 1 else None
                    total += stat.st_blocks * 512
    return total


def _read(pid: int) -> ProcessUse | None:
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            stat = file.read()
    except OSError:
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()  # the command's name may contain ")"
    threads = max(1, int(fields[17]))  # a zombie has none, but a process id
    return ProcessUse(pid, int(fields[1]), int(fields[3]), int(fields[21]) * _PAGE, threads)


def _proportional(process: ProcessUse) -> int:
    """The share of a process in the memory that it uses; all of it if the kernel does not know."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", "rb", buffering=0) as file:
            for line in file.read().splitlines():
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        return process.memory if os.path.exists(f"/proc/{process.pid}") else 0
    return 0
