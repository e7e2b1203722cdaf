"""Reads CPU time, memory and load from /proc, and pins processes to cores."""

import os
import resource
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")


class Cores(NamedTuple):
    """The core of the daemon and the core of agents and load. The same one on a machine with one core."""

    daemon: int
    load: int


def cores() -> Cores:
    usable = sorted(os.sched_getaffinity(0))
    return Cores(usable[0], usable[-1])


@contextmanager
def on_core(core: int) -> Generator[None]:
    """Pins this thread and the processes that it starts to a core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def move(pid: int, core: int) -> None:
    """Pins a process with all its threads to a core."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), {core})


def descendants(pid: int) -> list[int]:
    parents = {int(path.name): _stat(int(path.name)) for path in Path("/proc").iterdir() if path.name.isdigit()}
    found = [pid]
    for parent in found:
        found += [child for child, stat in parents.items() if stat and int(stat[1]) == parent]
    return found[1:]


def cpu_seconds(*pids: int) -> float:
    stats = [stat for pid in pids if (stat := _stat(pid))]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / _TICKS


def core_seconds(core: int) -> float:
    """Seconds in which a core was busy since boot."""
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name == f"cpu{core}":
            user, nice, system, _idle, _waiting, irq, softirq, stolen, *_ = map(int, fields)
            return (user + nice + system + irq + softirq + stolen) / _TICKS
    raise LookupError(f"there is no core {core}")


def resident_bytes(pid: int) -> int:
    return _status_bytes(pid, "VmRSS:")


def peak_bytes(pid: int) -> int:
    """The most resident memory that a process had since its start."""
    return _status_bytes(pid, "VmHWM:")


def _status_bytes(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(pid)


def load_average() -> float:
    return os.getloadavg()[0]


def allow_many_files() -> None:
    """Raises the limit of open files for this process and its children."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "an unnamed processor"


def _stat(pid: int) -> list[str] | None:
    """The fields of `stat` from the state on, or None if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
