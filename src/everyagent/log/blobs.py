"""Big bodies as files, named by what is in them. The database says who refers to which."""

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
        """Its digest, once file and folder are on disk: a row may then refer to it."""
        digest = hashlib.sha256(body).digest()
        path = self._path(digest)
        if not path.exists():
            temporary = path.with_suffix(".tmp")
            try:
                with open(temporary, "wb") as file:
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
        """The same for bytes that a file of this folder holds, on disk already; that file is gone then."""
        if self._path(digest).exists():
            path.unlink(missing_ok=True)
        else:
            path.rename(self._path(digest))
        sync_folder(self._folder)

    def draft(self) -> Path:
        """A new name for a file to adopt later. If nobody does, it is swept away at the next start."""
        return self._folder / f"{uuid.uuid4().hex}.draft"

    def open(self, digest: bytes) -> BinaryIO:
        return self._path(digest).open("rb")

    def get(self, digest: bytes) -> bytes:
        return self._path(digest).read_bytes()

    def remove(self, digest: bytes) -> None:
        self._path(digest).unlink(missing_ok=True)

    def sweep(self, referred: Collection[bytes]) -> None:
        """Removes what a crash left between a file and the row that would have referred to it."""
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
