"""Folders that an agent may replace by links meanwhile: opened part by part, without links. All calls block."""

import os
import shutil
import stat
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def held(root: Path, parts: Iterable[str], *, create: bool = False) -> Generator[int]:
    """A descriptor of a folder below the root, which is opened as it is. Raises `OSError`, also at a link."""
    folders = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        for part in parts:
            if create:
                try:
                    os.mkdir(part, dir_fd=folders[-1])
                except FileExistsError:
                    pass
            folders.append(os.open(part, _DIRECTORY, dir_fd=folders[-1]))
        yield folders[-1]
    finally:
        for each in folders:
            os.close(each)


def remove(folder: int, name: str) -> None:
    """Removes a file, or a folder with all that is in it, also in folders that their owner may not write.

    Goes on after an error, and raises the first `OSError` at the end.
    """
    if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=folder)
        return
    errors = _errors_of_removal(folder, name)
    if any(isinstance(error, PermissionError) for error in errors):
        with suppress(OSError):  # the second removal names what is left
            _open_to_owner(name, folder)
            for _, names, _, place in os.fwalk(name, dir_fd=folder):
                for each in names:
                    with suppress(OSError):
                        _open_to_owner(each, place)
        errors = _errors_of_removal(folder, name)
    if errors:
        raise errors[0]


def _errors_of_removal(folder: int, name: str) -> list[OSError]:
    errors = list[OSError]()

    def failed(_function: object, _path: str, found: tuple[object, BaseException, object]) -> None:
        if not isinstance(found[1], OSError):
            raise found[1]
        if not isinstance(found[1], FileNotFoundError):
            errors.append(found[1])

    shutil.rmtree(name, dir_fd=folder, onerror=failed)
    return errors


def _open_to_owner(name: str, folder: int) -> None:
    """A link is left as it is."""
    if sys.platform != "linux":
        os.chmod(name, 0o700, dir_fd=folder, follow_symlinks=False)
        return
    try:
        found = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:  # a link, or gone
        return
    try:
        os.chmod(f"/proc/self/fd/{found}", 0o700)
    finally:
        os.close(found)
