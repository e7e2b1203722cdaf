"""Unpacks tar archives into a confined directory. All calls block."""

import gzip
import os
import posixpath
import tarfile
import zlib
from typing import IO, BinaryIO, NamedTuple, Protocol, cast

from everyagent.api.universal.atomic_write import AtomicWrite
from everyagent.api.universal.confined_directory import ConfinedDirectory
from everyagent.errors import BadRequest, Forbidden, StorageFull, TooLarge

MAX_MEMBERS = 50_000
_GZIP = b"\x1f\x8b"
_MAX_HEADER = 1 << 20


class Unpacked(NamedTuple):
    paths: list[str]
    total: int


class _Source(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...
    def seek(self, offset: int, whence: int = 0, /) -> int: ...
    def tell(self) -> int: ...


class _Bounded:
    """A source with limits on the size of a header and of the whole archive, against decompression bombs."""

    def __init__(self, source: _Source, limit: int) -> None:
        self._source = source
        self._limit = limit

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_HEADER:
            raise BadRequest("The archive has a header that is too large.")
        self._check(self._source.tell() + size)
        return self._source.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        self._check(offset)
        return self._source.seek(offset, whence)

    def tell(self) -> int:
        return self._source.tell()

    def _check(self, position: int) -> None:
        if position > self._limit:
            raise TooLarge(f"The archive unpacks to more than {self._limit} bytes.", limit=self._limit)


def unpack(archive: BinaryIO, directory: ConfinedDirectory, under: str, *, limit: int, listed: int) -> Unpacked:
    """Unpack files, directories and links that point inside. Stops at the first member that is refused.

    If the disk is full, everything new is removed again. Files that were replaced before stay replaced.
    """
    packed = archive.read(2) == _GZIP
    archive.seek(0)
    source: _Source = gzip.GzipFile(fileobj=archive) if packed else archive
    paths: list[str] = []
    total = 0
    try:
        with tarfile.open(fileobj=cast(IO[bytes], _Bounded(source, limit + (limit >> 2))), mode="r:") as tar:
            for member in tar:
                total += 1
                if total > MAX_MEMBERS:
                    raise TooLarge(f"The archive has more than {MAX_MEMBERS} members.", limit=MAX_MEMBERS)
                path = _place(tar, tarfile.data_filter(member, str(directory.root / under)), directory, under)
                if len(paths) < listed:
                    paths.append(path)
    except StorageFull:
        directory.undo()
        raise StorageFull("The disk is full. No new file of the archive was kept; free some space.") from None
    except tarfile.FilterError as error:
        raise Forbidden(f"The archive was refused: {error}.") from None
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError, KeyError) as error:
        raise BadRequest(f"The body is not a tar archive, or it is damaged: {error}.") from None
    return Unpacked(paths, total)


def _place(tar: tarfile.TarFile, member: tarfile.TarInfo, directory: ConfinedDirectory, under: str) -> str:
    path = f"{under}/{member.name}"
    if member.isdir():
        return directory.mkdir(path)
    if member.issym():
        with directory.place(path, follow=False, create_parents=True) as place:
            os.symlink(_checked_link_target(member), place.name, dir_fd=place.parent)
            directory.made.append(place.path)
            return place.path
    data = tar.extractfile(member)
    if data is None:
        raise BadRequest(f"The archive was refused: {member.name!r} is neither a file, a directory nor a link.")
    with directory.place(path, create_parents=True) as place, data, AtomicWrite(place, member.mode) as file:
        file.copy(data)
        file.keep()
        if not file.replaces:
            directory.made.append(place.path)
        return place.path


def _checked_link_target(link: tarfile.TarInfo) -> str:
    """The target of a link, if it is inside the archive. Raises `Forbidden` otherwise."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(link.name), link.linkname))
    if target.startswith(("/", "../")) or target == "..":
        raise Forbidden(f"The archive was refused: the link {link.name!r} points outside.")
    return link.linkname
