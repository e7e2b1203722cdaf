"""Contents in a folder that all nodes of a cluster mount."""

import os
import shutil
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from everyagent.errors import BlobsUnavailable
from everyagent.log.blob_stores.store import MARKER, PIECE_BYTES
from everyagent.log.blobs import sync_folder

#: A draft that is older was left by a crash.
_DRAFT_SECONDS = 86_400


class FolderStore:
    """The folder is never made: one that is missing is often a file system that is not mounted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name = str(folder)

    def put(self, file: BinaryIO, digest: bytes) -> None:
        with self._explained():
            self._write(file, digest.hex())

    def pieces(self, digest: bytes) -> Iterator[bytes]:
        with self._explained(), (self._folder / digest.hex()).open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                yield piece

    def remove(self, digest: bytes) -> None:
        with self._explained():
            (self._folder / digest.hex()).unlink(missing_ok=True)

    def marker(self) -> str | None:
        with self._explained():
            self._remove_old_drafts()
            try:
                return (self._folder / MARKER).read_text()
            except FileNotFoundError:
                return None

    def mark(self, log_id: str) -> None:
        draft = self._folder / f"{uuid.uuid4().hex}.draft"
        with self._explained():
            draft.write_text(log_id)
            draft.rename(self._folder / MARKER)
            sync_folder(self._folder)

    def _write(self, source: BinaryIO, name: str) -> None:
        """Each call has a draft of its own, because several nodes may store the same contents at once."""
        draft = self._folder / f"{uuid.uuid4().hex}.draft"
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                shutil.copyfileobj(source, file, PIECE_BYTES)
                file.flush()
                os.fsync(file.fileno())
            draft.rename(self._folder / name)
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(self._folder)

    def _remove_old_drafts(self) -> None:
        for draft in self._folder.glob("*.draft"):
            if draft.stat().st_mtime < time.time() - _DRAFT_SECONDS:
                draft.unlink(missing_ok=True)

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            if not self._folder.is_dir():
                raise BlobsUnavailable(f"The folder for blobs {self.name} does not exist. Make it, or mount it.")
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise BlobsUnavailable(
                f"The folder for blobs {self.name} cannot be used ({error}). Nothing was written; try again."
            ) from error
