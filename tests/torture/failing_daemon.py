"""Runs `everyagent` and kills it with SIGKILL at a named point: `EVERYAGENT_TORTURE_POINT=<point>:<count>`.

The points are wrapped around the daemon's functions from outside, so the daemon itself has no code for them.
"""

import os
import signal
from collections.abc import Callable
from typing import Protocol

import apsw

from everyagent.cli.main import main
from everyagent.log import blobs
from everyagent.log.sql.group import Group
from everyagent.log.sqlite import checkpoint, deletion, writer
from everyagent.sessions.actor import Actor

VARIABLE = "EVERYAGENT_TORTURE_POINT"


class Countdown:
    """Kills this process when it is reached for the `count`th time."""

    def __init__(self, count: int) -> None:
        self._count = count

    def reach(self) -> None:
        self._count -= 1
        if self._count == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Function(Protocol):
    def __call__(self, *args: object) -> object: ...


def _wrap(
    owner: object, name: str, *, before: Callable[[], None] | None = None, after: Countdown | None = None
) -> None:
    original: Function = getattr(owner, name)

    def wrapped(*args: object) -> object:
        if before:
            before()
        result = original(*args)
        if after:
            after.reach()
        return result

    setattr(owner, name, wrapped)


def before_commit(countdown: Countdown) -> None:
    """All rows of a group are written in the open transaction."""
    _wrap(Group, "finish", after=countdown)


def after_commit(countdown: Countdown) -> None:
    """The transaction is durable, but no reader and no effect has followed it."""
    _wrap(writer.Writer, "_post", before=countdown.reach)


def in_checkpoint(countdown: Countdown) -> None:
    """Some pages of the write-ahead log are in the database file: only checkpoints write to it."""

    class Disk(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("checkpoint-kill", "", makedefault=True)

        def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
            path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
            return DatabaseFile("", name, flags) if path.endswith(".db") else apsw.VFSFile("", name, flags)

    class DatabaseFile(apsw.VFSFile):
        def xWrite(self, data: bytes, offset: int) -> None:
            super().xWrite(data, offset)
            countdown.reach()

    global _disk
    _disk = Disk()
    checkpoint.WORTHWHILE_PAGES = 20
    writer.LARGE_PAGES = 60


_disk: apsw.VFS | None = None


def in_blob_write(countdown: Countdown) -> None:
    """A blob is written but not synced, or renamed while its folder is not synced."""
    put = blobs.Blobs.put

    class Syncs:
        def __getattr__(self, name: str) -> object:
            return getattr(os, name)

        def fsync(self, descriptor: int) -> None:
            countdown.reach()
            os.fsync(descriptor)

    def counted(self: blobs.Blobs, body: bytes) -> bytes:
        blobs.os = Syncs()
        try:
            return put(self, body)
        finally:
            blobs.os = os

    blobs.Blobs.put = counted


def in_recovery(countdown: Countdown) -> None:
    """Some sessions of the killed daemon are recovered, others are not."""
    _wrap(Actor, "recover", before=countdown.reach)


def in_deletion(countdown: Countdown) -> None:
    """Rows of a deleted session are removed in an open transaction."""
    _wrap(deletion, "_clear", after=countdown)


POINTS: dict[str, Callable[[Countdown], None]] = {
    "before commit": before_commit,
    "after commit, before effects": after_commit,
    "in a checkpoint": in_checkpoint,
    "in a blob write": in_blob_write,
    "in recovery": in_recovery,
    "in deletion": in_deletion,
}

if __name__ == "__main__":
    point, _, count = os.environ.pop(VARIABLE, "").rpartition(":")
    if point:
        POINTS[point](Countdown(int(count)))
    main()
