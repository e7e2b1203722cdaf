"""Content-addressed files for large bodies. The database records which rows refer to which file."""

import hashlib
import os
import uuid
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

#: A body longer than this goes to a blob.
INLINE_BYTES = 256 << 10


class Blobs:
    """Called by the log alone: `draft`, `open` and `get` from anywhere, the rest from its writer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, body: bytes) -> bytes:
        """Stores a body and returns its digest. File and folder are synced to disk, so a row may refer to it."""
        digest = hashlib.sha256(body).digest()
        path = self._path(digest)
        if not path.exists():
            temporary = path.with_suffix(".tmp")
            try:
                with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                    file.write(body)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.rename(path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
        sync_folder(self._folder)
        return digest

    def adopt(self, path: Path, digest: bytes) -> None:
        """Like `put`, for a file of this folder that is synced already. The file is moved."""
        if self._path(digest).exists():
            path.unlink(missing_ok=True)
        else:
            path.rename(self._path(digest))
        sync_folder(self._folder)

    def draft(self) -> Path:
        """A new path for a file to `adopt` later. A file that is never adopted is deleted at the next start."""
        return self._folder / f"{uuid.uuid4().hex}.draft"

    def open(self, digest: bytes) -> BinaryIO:
        return self._path(digest).open("rb")

    def holds(self, digest: bytes) -> bool:
        return self._path(digest).exists()

    def get(self, digest: bytes) -> bytes:
        return self._path(digest).read_bytes()

    def remove(self, digest: bytes) -> None:
        self._path(digest).unlink(missing_ok=True)

    def sweep(self, referred: Collection[bytes]) -> None:
        """Deletes files to which no row refers, as a crash leaves them."""
        kept = {digest.hex() for digest in referred}
        for path in self._folder.iterdir():
            if path.name not in kept:
                path.unlink()

    def _path(self, digest: bytes) -> Path:
        return self._folder / digest.hex()


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
