"""Simulates power loss for the files of a blob folder: unsynced content and unsynced names are kept, torn or lost."""

import os
import random
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import ClassVar

from everyagent.log import blobs


class Content:
    """A file's bytes, and as much of them as a sync has made durable."""

    def __init__(self) -> None:
        self.written = b""
        self.synced: bytes | None = None

    def after_power_cut(self, chance: random.Random) -> bytes:
        if self.synced is not None:
            return self.synced
        kept = self.written[: chance.randrange(len(self.written) + 1)]
        return kept if chance.random() < 0.7 else bytes(len(kept))


#: Names that one operation changes together: a rename removes one and adds one.
_Change = dict[str, Content | None]


class FaultyFolder:
    """The names of a folder: durable ones, and changes that no sync of the folder has made durable."""

    def __init__(self, lock: threading.RLock, noticed: Callable[[], None]) -> None:
        self.lock = lock
        self.noticed = noticed
        #: Whether a sync of the folder works. Without it, the simulation must lose blobs.
        self.syncs = True
        self._durable: dict[str, Content] = {}
        self._pending: list[_Change] = []
        self._open: dict[int, Content] = {}

    def change(self, names: _Change) -> None:
        with self.lock:
            self._pending.append(names)
        self.noticed()

    def named(self, name: str) -> Content | None:
        with self.lock:
            for change in reversed(self._pending):
                if name in change:
                    return change[name]
            return self._durable.get(name)

    def opened(self, descriptor: int, name: str) -> None:
        content = self._open[descriptor] = Content()
        self.change({name: content})

    def content(self, descriptor: int) -> Content:
        return self._open[descriptor]

    def sync(self, descriptor: int) -> None:
        with self.lock:
            content = self._open.get(descriptor)
            if content is not None:
                content.synced = content.written
            elif self.syncs:
                for change in self._pending:
                    _apply(self._durable, change)
                self._pending = []
        self.noticed()

    def closed(self, descriptor: int) -> None:
        with self.lock:
            self._open.pop(descriptor, None)

    def power_cut(self, chance: random.Random) -> dict[str, bytes]:
        with self.lock:
            names = dict(self._durable)
            for change in self._pending:
                if chance.random() < 0.5:
                    _apply(names, change)
            return {name: content.after_power_cut(chance) for name, content in names.items()}


def _apply(names: dict[str, Content], change: _Change) -> None:
    for name, content in change.items():
        if content is None:
            names.pop(name, None)
        else:
            names[name] = content


class WatchedPath(type(Path())):
    """A path whose renames and removals the folder records."""

    folder: ClassVar[FaultyFolder]

    def rename(self, target: str | os.PathLike[str]) -> Path:  # pyright: ignore[reportIncompatibleMethodOverride]
        moved = super().rename(target)
        self.folder.change({self.name: None, Path(target).name: self.folder.named(self.name)})
        return moved

    def unlink(self, missing_ok: bool = False) -> None:
        super().unlink(missing_ok)
        self.folder.change({self.name: None})


class _WatchedFile:
    def __init__(self, folder: FaultyFolder, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._folder = folder
        self._content = folder.content(descriptor)

    def __enter__(self) -> "_WatchedFile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._folder.closed(self.fileno())
        self._file.close()

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._content.written += data
        self._folder.noticed()

    def flush(self) -> None:
        self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class _WatchedSystem:
    """The module `os` for blobs, with syncs that the folder records."""

    def __init__(self, folder: FaultyFolder) -> None:
        self._folder = folder

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def open(self, path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = os.open(path, flags, mode)
        if flags & os.O_CREAT:
            self._folder.opened(descriptor, path.name)
        return descriptor

    def fsync(self, descriptor: int) -> None:
        os.fsync(descriptor)
        self._folder.sync(descriptor)


@contextmanager
def watched(folder: FaultyFolder) -> Generator[None]:
    """Records all operations of blobs below a `WatchedPath`."""
    WatchedPath.folder = folder
    blobs.os = _WatchedSystem(folder)  # pyright: ignore[reportAttributeAccessIssue]

    def opened(descriptor: int, _mode: str) -> _WatchedFile:
        return _WatchedFile(folder, descriptor)

    blobs.open = opened  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        blobs.os = os
        del blobs.open  # pyright: ignore[reportAttributeAccessIssue]
