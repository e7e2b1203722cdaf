"""The folder in which a session's agent reads and writes the memories of a store.

The agent may put anything there, so all paths are opened relative to an open folder, without links. All calls block.
"""

import hashlib
import os
import stat
import time
import uuid
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from everyagent.held_folders import held
from everyagent.managed.memory.paths import MAX_SEGMENTS, fault_of
from everyagent.managed.memory.shape import MAX_BYTES

MAX_ENTRIES = 10_000
_DRAFT = ".everyagent-draft-"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: A file that changed this recently may change again within the same time stamp.
_FRESH_NS = 2_000_000_000


class Seen(Struct, frozen=True, array_like=True):
    """A file as it was last read."""

    sha256: str
    size: int = 0
    modified_ns: int = 0


class Scan(Struct, kw_only=True):
    """`refused` has the reasons why files cannot be memories, by path; `over`: there were too many files."""

    files: dict[str, Seen]
    refused: dict[str, str]
    over: bool = False


class Folder:
    """`parts` is the path from the session's folder to this one."""

    def __init__(self, root: Path, parts: list[str], *, read_only: bool) -> None:
        self._root = root
        self._parts = parts
        self._read_only = read_only

    def scan(self, known: Mapping[str, Seen]) -> Scan:
        """Raises `OSError` if it is not a folder."""
        scan = Scan(files={}, refused={})
        with self._within([], create=True) as folder:
            for path, fault, seen in _found(folder, "", 1, known, [MAX_ENTRIES]):
                if fault:
                    scan.refused[path] = fault
                elif seen:
                    scan.files[path] = seen
                else:
                    scan.over = True
        return scan

    def read(self, path: str) -> bytes:
        *parents, name = _parts(path)
        with self._within(parents) as folder:
            return _read(folder, name)

    def write(self, path: str, content: bytes, before: str | None) -> Seen | None:
        """Writes a file if its digest is still `before`; else returns None."""
        *parents, name = _parts(path)
        with self._within(parents, create=True) as folder:
            if _digest(folder, name) != before:
                return None
            draft = f"{_DRAFT}{uuid.uuid4().hex}"
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                    if self._read_only:
                        os.fchmod(file.fileno(), 0o444)
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(draft, dir_fd=folder)
                raise
            return Seen(hashlib.sha256(content).hexdigest(), len(content))

    def remove(self, path: str, before: str) -> bool:
        """Removes a file, and the folders that it leaves empty, if its digest is still `before`."""
        parts = _parts(path)
        with self._within(parts[:-1]) as folder:
            if _digest(folder, parts[-1]) != before:
                return False
            os.unlink(parts[-1], dir_fd=folder)
        for depth in range(len(parts) - 1, 0, -1):
            with self._within(parts[: depth - 1]) as folder:
                try:
                    os.rmdir(parts[depth - 1], dir_fd=folder)
                except OSError:
                    break
        return True

    @contextmanager
    def open(self) -> Generator[None]:
        """Makes a read-only folder writable for the time of the block."""
        if not self._read_only:
            yield
            return
        self._set_modes(0o755)
        try:
            yield
        finally:
            self._set_modes(0o555)

    def _set_modes(self, mode: int) -> None:
        with self._within([], create=True) as folder:
            _set_modes(folder, mode, MAX_SEGMENTS)

    @contextmanager
    def _within(self, parts: list[str], *, create: bool = False) -> Generator[int]:
        with held(self._root, (*self._parts, *parts), create=create) as folder:
            yield folder


def _found(
    folder: int, prefix: str, depth: int, known: Mapping[str, Seen], left: list[int]
) -> Iterator[tuple[str, str | None, Seen | None]]:
    """Yields each path with a fault or its content; neither means that there are too many."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_DRAFT):
                continue
            left[0] -= 1
            if left[0] < 0:
                yield "", None, None
                return
            path = f"{prefix}/{entry.name}"
            try:
                if fault := fault_of(path):
                    yield path, fault, None
                elif entry.is_dir(follow_symlinks=False):
                    yield from _below(folder, entry.name, path, depth, known, left)
                else:
                    yield path, *_looked_at(folder, entry.name, known.get(path))
            except OSError as error:
                yield path, f"it cannot be read ({error.strerror})", None


def _below(
    folder: int, name: str, path: str, depth: int, known: Mapping[str, Seen], left: list[int]
) -> Iterator[tuple[str, str | None, Seen | None]]:
    if depth == MAX_SEGMENTS:
        yield path, "what is in it lies too deep", None
        return
    below = os.open(name, _DIRECTORY, dir_fd=folder)
    try:
        yield from _found(below, path, depth + 1, known, left)
    finally:
        os.close(below)


def _looked_at(folder: int, name: str, known: Seen | None) -> tuple[str | None, Seen | None]:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        return "it is no plain file", None
    if status.st_size > MAX_BYTES:
        return f"it has more than {MAX_BYTES} bytes", None
    if known and known.modified_ns and (known.size, known.modified_ns) == (status.st_size, status.st_mtime_ns):
        return None, known
    content = _read(folder, name)
    try:
        content.decode()
    except UnicodeDecodeError:
        return "it is not text in UTF-8", None
    settled = status.st_mtime_ns < time.time_ns() - _FRESH_NS
    return None, Seen(hashlib.sha256(content).hexdigest(), len(content), status.st_mtime_ns if settled else 0)


def _set_modes(folder: int, mode: int, depth: int) -> None:
    os.fchmod(folder, mode)
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in names if depth else ():
        below = os.open(name, _DIRECTORY, dir_fd=folder)
        try:
            _set_modes(below, mode, depth - 1)
        finally:
            os.close(below)


def _read(folder: int, name: str) -> bytes:
    """Reads at most one byte more than a memory may have."""
    descriptor = os.open(name, _FILE, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no plain file")
        return file.read(MAX_BYTES + 1)


def _digest(folder: int, name: str) -> str | None:
    try:
        return hashlib.sha256(_read(folder, name)).hexdigest()
    except FileNotFoundError:
        return None


def _parts(path: str) -> list[str]:
    return path.split("/")[1:]
