"""A lock on a folder, across threads and processes."""

import fcntl
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def only_one(folder: Path) -> Generator[None]:
    """Blocking. The lock file is next to the folder, which may be deleted and created meanwhile."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
