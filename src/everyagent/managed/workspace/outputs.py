"""Collects the files of sessions' outputs folders, so that clients can list and download them."""

import asyncio
import os
import stat
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from everyagent.held_folders import held
from everyagent.managed.resources.files.store import FileStore, KnownOutput, pieces_of
from everyagent.managed.workspace.shape import OUTPUTS
from everyagent.sessions.locks import Locks

#: From the session's folder to that of its outputs.
_FOLDERS = OUTPUTS.strip("/").split("/")
MAX_OUTPUTS = 1000
MAX_BYTES = 512 << 20


class Output(Struct, frozen=True, kw_only=True):
    """A file in the outputs folder; `source` is its path in the API."""

    path: Path
    source: str
    size: int
    modified_ns: int


class Outputs:
    """Collects outputs when a client lists files. A changed output becomes a new file."""

    def __init__(self, files: FileStore, place: Callable[[str, str], Path], locks: Locks) -> None:
        self._files = files
        self._place = place
        self._locks = locks

    async def collect(self, session_id: str) -> None:
        """Makes a file of the session for each new or changed file in its outputs folder."""
        folder = self._place(session_id, OUTPUTS)
        async with self._locks.hold(f"outputs of {session_id}"):
            found = await asyncio.to_thread(lambda: list(_found(folder)))
            known = await self._files.outputs(session_id)
            for output in found:
                before = known.get(output.source)
                if before is None or before[1:] != (output.size, output.modified_ns):
                    await self._keep(session_id, folder, output, before)

    async def _keep(self, session_id: str, folder: Path, output: Output, before: KnownOutput | None) -> None:
        try:
            file = await asyncio.to_thread(_open, folder, output.path)
        except OSError:
            return  # deleted meanwhile, or not a regular file any more
        async with self._files.upload(pieces_of(file)) as uploaded:
            await self._files.keep_output(session_id, uploaded, output.source, output.modified_ns, before)


def _found(folder: Path) -> Iterator[Output]:
    """Regular files only, since links may lead out of the folder."""
    try:
        with held(folder.parents[2], _FOLDERS) as top:
            yield from islice(_below(folder, top), MAX_OUTPUTS)
    except OSError:
        return  # the agent put something else there


def _below(folder: Path, top: int) -> Iterator[Output]:
    for parent, folders, names, at in os.fwalk(".", dir_fd=top):
        folders.sort()
        for name in sorted(names):
            inside = Path(parent, name)
            try:
                status = os.stat(name, dir_fd=at, follow_symlinks=False)
            except OSError:
                continue  # deleted meanwhile
            if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES:
                source = f"{OUTPUTS}/{_readable(inside)}"
                yield Output(path=folder / inside, source=source, size=status.st_size, modified_ns=status.st_mtime_ns)


def _readable(path: Path) -> str:
    """Shows bytes that are not UTF-8 as `%` and two hex digits."""
    return os.fsencode(path).decode("utf-8", "backslashreplace").replace("\\x", "%")


def _open(folder: Path, path: Path) -> BinaryIO:
    """The agent may have replaced a folder on the way by a link since the file was found."""
    with held(folder.parents[2], (*_FOLDERS, *path.relative_to(folder).parent.parts)) as parent:
        descriptor = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no plain file")
    return os.fdopen(descriptor, "rb")
