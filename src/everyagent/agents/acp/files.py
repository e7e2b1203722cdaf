"""Files on the client's side: reads and writes text files for an agent, inside the session's directory only.

Blocking: called in a thread. Symbolic links are not followed, so that none can lead out of the directory.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from everyagent.errors import AgentFailed

MAX_BYTES = 16 * 1024 * 1024


def read(directory: Path, path: str, line: int | None, limit: int | None) -> str:
    """The text of a file: from line `line`, which counts from 1, and at most `limit` lines."""
    with _problems_of(path), os.fdopen(_open(directory, path, os.O_RDONLY), "rb") as file:
        body = file.read(MAX_BYTES + 1)
    if len(body) > MAX_BYTES:
        raise AgentFailed(f"{path} is larger than {MAX_BYTES >> 20} MiB.")
    text = body.decode(errors="replace")
    if line is None and limit is None:
        return text
    start = max(0, (line or 1) - 1)
    lines = text.splitlines(keepends=True)
    return "".join(lines[start:] if limit is None else lines[start : start + max(0, limit)])


def write(directory: Path, path: str, content: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with _problems_of(path), os.fdopen(_open(directory, path, flags, make_folders=True), "wb") as file:
        file.write(content.encode())


@contextmanager
def _problems_of(path: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise AgentFailed(f"{path}: {error.strerror}.") from error
    except ValueError as error:  # a NUL in the path
        raise AgentFailed(f"{path!r}: {error}.") from error


def _open(directory: Path, path: str, flags: int, *, make_folders: bool = False) -> int:
    """Open component by component. Raises `AgentFailed`, `OSError`, and `ValueError`."""
    base = directory.resolve()
    try:
        *folders, name = Path(os.path.normpath(path)).relative_to(base).parts
    except ValueError:
        raise AgentFailed(f"{path} is not a file inside the session's directory {directory}.") from None
    at = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            if make_folders:
                try:
                    os.mkdir(folder, dir_fd=at)
                except FileExistsError:
                    pass
            inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        return _regular(os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=at), path)
    finally:
        os.close(at)


def _regular(descriptor: int, path: str) -> int:
    """A directory has no text, and a pipe or a device may block the thread."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise AgentFailed(f"{path} is not a regular file.")
    return descriptor
