"""Lists, reads, removes and moves files in a confined directory. All calls block."""

import os
import shutil
import stat

from everyagent.api.universal.confined_directory import ConfinedDirectory, is_directory, not_the_root
from everyagent.clock import rfc3339
from everyagent.errors import BadRequest, Conflict
from everyagent.model.responses import EntryType, FsEntry, FsStat


def list_directory(directory: ConfinedDirectory, path: str) -> list[FsEntry]:
    with directory.place(path) as place:
        opened = os.open(place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.parent)
        try:
            with os.scandir(opened) as found:
                entries = [(entry.name, status) for entry in found if (status := _status(entry))]
        finally:
            os.close(opened)
        return [
            FsEntry(
                name=printable(name),
                path=printable(f"{place.path}/{name}"),
                entry_type=_kind(status),
                size=status.st_size,
                modified=_modified(status),
            )
            for name, status in sorted(entries)
        ]


def stat_entry(directory: ConfinedDirectory, path: str) -> FsStat:
    with directory.place(path) as place:
        status = place.stat()
        return FsStat(
            path=printable(place.path), entry_type=_kind(status), size=status.st_size, modified=_modified(status)
        )


def open_file(directory: ConfinedDirectory, path: str) -> tuple[int, os.stat_result]:
    """Open a regular file. The caller closes the descriptor."""
    with directory.place(path) as place:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(place.name, flags, dir_fd=place.parent)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise BadRequest(f"{path!r} is not a file.", path=path)
        return descriptor, status


def remove(directory: ConfinedDirectory, path: str, *, recursive: bool) -> str:
    with directory.place(path, follow=False) as place:
        not_the_root(place)
        if not is_directory(place.stat()):
            os.unlink(place.name, dir_fd=place.parent)
        elif recursive:
            shutil.rmtree(place.name, dir_fd=place.parent)
        else:
            os.rmdir(place.name, dir_fd=place.parent)
        return printable(place.path)


def move(directory: ConfinedDirectory, origin: str, to: str, *, overwrite: bool) -> tuple[str, str]:
    with directory.place(origin, follow=False) as source:
        moving = not_the_root(source).stat()
        with directory.place(to, follow=False, create_parents=True) as target:
            try:
                standing = not_the_root(target).stat()
            except FileNotFoundError:
                standing = None
            if standing is not None and not os.path.samestat(standing, moving):
                if not overwrite:
                    raise Conflict(f"{to!r} exists already. Replace it with `overwrite`.", path=to)
                if is_directory(standing):
                    if source.path.startswith(f"{target.path}/"):
                        raise BadRequest(f"{origin!r} is inside {to!r}, which it would replace.", path=to)
                    shutil.rmtree(target.name, dir_fd=target.parent)
            os.rename(source.name, target.name, src_dir_fd=source.parent, dst_dir_fd=target.parent)
            return printable(source.path), printable(target.path)


def printable(path: str) -> str:
    """The path with bytes that are not UTF-8 escaped."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _status(entry: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None  # removed since it was listed


def _kind(status: os.stat_result) -> EntryType:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "other"


def _modified(status: os.stat_result) -> str:
    return rfc3339(status.st_mtime_ns // 1000)
