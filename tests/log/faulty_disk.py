"""SQLite VFSes that simulate power loss, a full disk and I/O errors."""

import itertools
import random
import threading
from collections.abc import Callable
from pathlib import Path

import apsw

_names = itertools.count()
SECTOR = 512


class Image:
    """A file's synced content and its writes that were not synced."""

    def __init__(self) -> None:
        self.synced = bytearray()
        self.pending: list[tuple[int, bytes | None]] = []

    def sync(self) -> None:
        for offset, data in self.pending:
            _apply(self.synced, offset, data)
        self.pending = []

    def after_power_cut(self, chance: random.Random) -> bytes:
        """The content after a power cut: each unsynced write is kept, lost or torn at random."""
        image = bytearray(self.synced)
        for offset, data in self.pending:
            fate = chance.random()
            if fate < 0.4 or data is None:
                if fate < 0.7:
                    _apply(image, offset, data)
            elif fate < 0.7:
                for start in range(0, len(data), SECTOR):
                    if chance.random() < 0.5:
                        _apply(image, offset + start, data[start : start + SECTOR])
        return bytes(image)


def _apply(image: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del image[offset:]
        return
    if len(image) < offset:
        image.extend(bytes(offset - len(image)))
    image[offset : offset + len(data)] = data


class FaultyDisk(apsw.VFS):
    """Passes everything on to the real disk, unless `fault` raises. Keeps what a power cut would leave, if asked to.

    `fault` is called with `write` or `sync` before each; `noticed` after each write and sync.
    """

    def __init__(self, *, images: bool = False) -> None:
        self.name = f"faulty-{next(_names)}"
        self.images: dict[str, Image] | None = {} if images else None
        self.lock = threading.RLock()
        self.fault: Callable[[str], None] = lambda _operation: None
        self.noticed: Callable[[], None] = lambda: None
        super().__init__(self.name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "FaultyFile":
        return FaultyFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        if self.images is not None:
            with self.lock:
                self.images.pop(Path(filename).name, None)

    def power_cut(self, chance: random.Random) -> dict[str, bytes]:
        assert self.images is not None
        with self.lock:
            return {name: image.after_power_cut(chance) for name, image in self.images.items()}


class FaultyFile(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._image = None
        if disk.images is not None and path is not None:
            self._image = disk.images.setdefault(Path(path).name, Image())

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.fault("write")
        super().xWrite(data, offset)
        self._note(offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._note(newsize, None)

    def xSync(self, flags: int) -> None:
        self._disk.fault("sync")
        super().xSync(flags)
        with self._disk.lock:
            if self._image is not None:
                self._image.sync()
        self._disk.noticed()

    def _note(self, offset: int, data: bytes | None) -> None:
        with self._disk.lock:
            if self._image is not None:
                self._image.pending.append((offset, data))
        self._disk.noticed()
