"""Writes a file atomically: to a temporary file in the same directory, which then replaces it. All calls block."""

import os
import secrets
import stat
from types import TracebackType
from typing import Protocol

from everyagent.api.universal.confined_directory import Place, is_directory
from everyagent.errors import BadRequest


class Reads(Protocol):
    def read(self, size: int, /) -> bytes: ...


class AtomicWrite:
    """Removes the temporary file on close, unless `keep` was called. `replaces`: there is a file that it replaces."""

    def __init__(self, place: Place, mode: int | None = None) -> None:
        earlier = _earlier_mode(place)
        self.replaces = earlier is not None
        self._place = place
        self._name = f".{secrets.token_hex(8)}.everyagent-upload"
        self._descriptor = os.open(
            self._name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=place.parent
        )
        if (wanted := earlier if mode is None else mode) is not None:
            os.fchmod(self._descriptor, wanted)
        self.size = 0
        self._kept = False

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        self.size += len(data)

    def copy(self, source: Reads, piece: int = 1 << 18) -> None:
        while data := source.read(piece):
            self.write(data)

    def keep(self) -> None:
        os.rename(self._name, self._place.name, src_dir_fd=self._place.parent, dst_dir_fd=self._place.parent)
        self._kept = True

    def close(self) -> None:
        os.close(self._descriptor)
        if not self._kept:
            os.unlink(self._name, dir_fd=self._place.parent)

    def __enter__(self) -> "AtomicWrite":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _earlier_mode(place: Place) -> int | None:
    """The permissions of the file that will be replaced, if it exists."""
    try:
        status = place.stat()
    except FileNotFoundError:
        return None
    if is_directory(status):
        raise BadRequest(f"{place.path!r} is a directory.", path=place.path)
    if not stat.S_ISREG(status.st_mode):
        raise BadRequest(f"{place.path!r} is not a file.", path=place.path)
    return stat.S_IMODE(status.st_mode)
