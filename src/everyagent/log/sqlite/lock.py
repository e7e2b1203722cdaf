"""File lock that gives a data folder to one process. The kernel releases it when the process dies."""

import fcntl
import os
from pathlib import Path

from everyagent.errors import Unavailable


class FolderLock:
    """Locked from construction until `release`. The file holds the id of the process."""

    def __init__(self, folder: Path) -> None:
        path = folder / "everyagent.lock"
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise Unavailable(
                f"The data folder {folder} is in use by another everyagent (process {holder}). "
                "Stop that one first, or choose another folder with --data-dir.",
                pid=holder,
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._file)
