"""The limits of one child process with all its descendants, and the report that one was exceeded."""

import math
import os
import resource
from pathlib import Path

from msgspec import Struct

from everyagent.model.limits import NO_LIMITS, AgentLimits

#: The kernel stops a process that is this far over its limit; one that is over it at all is ended by `limit_watch.py`.
_HARD = 1.25
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
#: The names in `AgentLimits`, as a sentence has them.
_NAMES = {"memory": "memory", "processes": "processes and threads", "disk": "disk space"}


class ProcessLimits(Struct, frozen=True):
    """`folders` are those whose size `values.disk` limits; empty without that limit."""

    values: AgentLimits = NO_LIMITS
    folders: tuple[Path, ...] = ()

    @property
    def watched(self) -> bool:
        """Whether somebody has to look at the use: the kernel enforces the other limits alone."""
        return bool(self.values.memory or self.values.processes or self.values.disk)

    def words(self, *, walled: bool) -> list[tuple[str, str]]:
        """The words for `entry/main.py`.

        Without a wall the kernel counts the processes of the whole user, so that count is not limited there.
        """
        given = self.values
        words: list[tuple[str, str]] = []
        if given.open_files:
            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            files = given.open_files if most == resource.RLIM_INFINITY else min(given.open_files, most)
            words.append(("limit", f"{resource.RLIMIT_NOFILE}={files}"))
        if given.disk:
            words.append(("limit", f"{resource.RLIMIT_FSIZE}={given.disk}"))
        if given.processes and walled:
            hard = int(given.processes * _HARD)
            words += [("limit", f"{resource.RLIMIT_NPROC}={hard}"), ("processes", str(hard))]
        if given.memory and walled:
            words.append(("size", str(given.memory)))
        if given.cpu:
            words.append(("cpus", str(min(math.ceil(given.cpu), os.cpu_count() or 1))))
        return words


UNLIMITED = ProcessLimits()


class LimitHit(Struct, frozen=True):
    """`name` is the field of `AgentLimits` that was exceeded."""

    name: str
    used: int
    limit: int

    @property
    def message(self) -> str:
        shown, of = (str, "") if self.name == "processes" else (size, "of ")
        flag = f"--session-{self.name}"
        return (
            f"The agent and its programs used {shown(self.used)} {of}{_NAMES[self.name]}; the limit is "
            f"{shown(self.limit)}. All of its processes were ended. To allow more, create a session with a higher "
            f"`limits.{self.name}`, up to the server's limit: `everyagent serve {flag}`."
        )


def size(count: int) -> str:
    """A number of bytes for people."""
    number, unit = float(count), 0
    while number >= 1024 and unit < len(_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:.0f} {_UNITS[unit]}" if unit == 0 or number >= 100 else f"{number:.1f} {_UNITS[unit]}"
