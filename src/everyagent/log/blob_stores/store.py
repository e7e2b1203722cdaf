"""The `BlobStore` protocol: contents by their digest, outside of the database that refers to them."""

import hashlib
from collections.abc import Iterator
from typing import BinaryIO, Protocol

from everyagent.errors import Unavailable

#: Contents are read and written in pieces of this size.
PIECE_BYTES = 8 << 20
#: The name under which a store keeps the id of the log that it belongs to.
MARKER = "everyagent-log"


class BlobStore(Protocol):
    """All methods block and may be called from any thread. A digest is the SHA-256 of its contents.

    Any of them raises `BlobsUnavailable` if the store cannot be reached or used; it may be called again then.
    `tests/log/test_blob_stores.py` holds every implementation to this.
    """

    @property
    def name(self) -> str:
        """The store's address for messages, without secrets."""
        ...

    def put(self, file: BinaryIO, digest: bytes) -> None:
        """Stores the rest of the file: whole and durable when it returns. Contents that are there may be replaced."""
        ...

    def pieces(self, digest: bytes) -> Iterator[bytes]:
        """The contents, as they are stored. `FileNotFoundError` if they are not there."""
        ...

    def remove(self, digest: bytes) -> None:
        """Removes the contents, if they are there."""
        ...

    def marker(self) -> str | None:
        """The id that `mark` left; None if there is none."""
        ...

    def mark(self, log_id: str) -> None: ...


def checked(pieces: Iterator[bytes], digest: bytes, name: str) -> Iterator[bytes]:
    """The same pieces. `Unavailable` at their end if they are not the contents with this digest."""
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
        yield piece
    if found.digest() != digest:
        raise Unavailable(
            f"The content {digest.hex()} in {name} is damaged: its digest is {found.hexdigest()}. Put it back from a "
            "backup. `everyagent log verify` finds all that are damaged."
        )
