"""Folders and files that only their owner can use: the data folder and everything that holds secrets."""

import os
from pathlib import Path

from everyagent.errors import Unavailable


def private_folder(folder: Path) -> None:
    """Creates the folder, or takes the access of others to it away. Raises `Unavailable` if that is not possible."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
        if folder.stat().st_mode & 0o077:
            raise PermissionError("its file system ignores permissions")
    except PermissionError as error:
        raise Unavailable(
            f"Other users can read the folder {folder}, and that cannot be changed ({error.strerror or error}). "
            "It would hold secrets. Run `chmod 700` on it as its owner, or choose another folder with --data-dir."
        ) from error


def private_file(path: Path) -> None:
    """Takes the access of others to an existing file away; creates an empty file otherwise."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
