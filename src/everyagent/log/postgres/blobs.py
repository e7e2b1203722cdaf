"""Large bodies in the database, in pieces, or outside of it. `blobs` records which sessions and records refer to them.

A commit writes bodies into the database, so that it waits for nothing else; `BlobMover` moves them outside later.
"""

import hashlib
import io
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from everyagent.errors import StoreUnavailable, Unavailable
from everyagent.log.blob_stores.store import BlobStore, checked
from everyagent.log.postgres.connection import Connection

PIECE_BYTES = 1 << 20
#: Contents to which nothing refers are kept this long: an upload is stored before the record that refers to it.
UNUSED_HOURS = 2
_SWEPT = 50
UNUSED = (
    f"at < now() - interval '{UNUSED_HOURS} hours' AND NOT EXISTS "
    "(SELECT 1 FROM blobs WHERE blobs.digest = blob_contents.digest)"
)
_TOUCH = "INSERT INTO blob_contents VALUES (?, now()) ON CONFLICT (digest) DO UPDATE SET at = excluded.at"


class PostgresBlobs:
    """Writes contents inside the transaction of its connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, body: bytes) -> bytes:
        digest = hashlib.sha256(body).digest()
        self.store(digest, io.BytesIO(body))
        return digest

    def adopt(self, path: Path, digest: bytes) -> None:
        with path.open("rb") as file:
            self.store(digest, file)

    def store(self, digest: bytes, file: BinaryIO) -> None:
        """The row of the contents stays locked, so that no sweep deletes them before a reference is committed."""
        if _is_kept(self._connection, digest):
            return
        number = 0
        while (piece := file.read(PIECE_BYTES)) or not number:
            self._connection.execute("INSERT INTO blob_pieces VALUES (?, ?, ?)", (digest, number, piece))
            number += 1


class BlobReader:
    """Reads contents wherever they are. `folder` is for copies."""

    def __init__(self, outside: BlobStore | None, folder: Path) -> None:
        self.outside = outside
        self._folder = folder

    def get(self, connection: Connection, digest: bytes) -> bytes:
        rows = connection.execute("SELECT body FROM blob_pieces WHERE digest = ? ORDER BY number", (digest,)).fetchall()
        if rows:
            return b"".join(cast("bytes", body) for (body,) in rows)
        return b"".join(self._outside_pieces(digest))

    def copy_inside(self, connection: Connection, digest: bytes) -> BinaryIO | None:
        """A copy without a name; None if the contents are outside. `FileNotFoundError` if nothing refers to them."""
        if not connection.execute("SELECT 1 FROM blobs WHERE digest = ? LIMIT 1", (digest,)).fetchone():
            raise FileNotFoundError(digest.hex())
        with connection:
            # Locked, so that the pieces are not moved meanwhile.
            connection.execute("SELECT 1 FROM blob_contents WHERE digest = ? FOR SHARE", (digest,))
            pieces = _pieces(connection, digest)
            first = next(pieces, None)
            return None if first is None else self._copy(_after(first, pieces))

    def copy_outside(self, digest: bytes) -> BinaryIO:
        return self._copy(self._outside_pieces(digest))

    def _outside_pieces(self, digest: bytes) -> Iterator[bytes]:
        if self.outside is None:
            raise Unavailable(f"The content {digest.hex()} is not in the database. Put it back from a backup.")
        try:
            yield from checked(self.outside.pieces(digest), digest, self.outside.name)
        except FileNotFoundError:
            raise Unavailable(
                f"The content {digest.hex()} is not in {self.outside.name}. Put it back from a backup."
            ) from None

    def _copy(self, pieces: Iterator[bytes]) -> BinaryIO:
        copy = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - the caller closes it
        try:
            for piece in pieces:
                copy.write(piece)
        except BaseException:
            copy.close()
            raise
        copy.seek(0)
        return cast("BinaryIO", copy)


def put_outside(connection: Connection, outside: BlobStore, digest: bytes, file: BinaryIO) -> None:
    """Stores contents outside, in two short transactions: the first keeps them from being swept meanwhile."""
    with connection:
        connection.execute(_TOUCH, (digest,))
        if connection.execute("SELECT 1 FROM blob_contents WHERE digest = ? AND outside", (digest,)).fetchone():
            return
    outside.put(file, digest)
    with connection:
        rows = connection.execute(
            "UPDATE blob_contents SET outside = true, at = now() WHERE digest = ? RETURNING 1", (digest,)
        ).fetchall()
        if not rows:
            raise StoreUnavailable(
                f"Storing a content in {outside.name} took too long. Nothing was written; try again."
            )
        connection.execute("DELETE FROM blob_pieces WHERE digest = ?", (digest,))


def inside(connection: Connection, limit: int) -> list[bytes]:
    """Some contents that are in the database and in use."""
    rows = connection.execute(
        "SELECT digest FROM blob_pieces WHERE number = 0 "
        "AND EXISTS (SELECT 1 FROM blobs WHERE blobs.digest = blob_pieces.digest) LIMIT ?",
        (limit,),
    ).fetchall()
    return [cast("bytes", digest) for (digest,) in rows]


def sweep(connection: Connection, outside: BlobStore | None = None) -> bool:
    """Deletes some contents to which nothing refers. True if there may be more."""
    unused = f"SELECT digest FROM blob_contents WHERE {UNUSED} LIMIT ?"
    if outside is None:
        rows = connection.execute(
            f"DELETE FROM blob_contents WHERE digest IN ({unused}) AND NOT outside AND {UNUSED} RETURNING 1", (_SWEPT,)
        ).fetchall()
        return len(rows) == _SWEPT
    # The row is kept until its contents are gone, but from here on it promises none: a crash between the two steps
    # leaves a row from which the same contents can be stored again.
    rows = connection.execute(
        f"UPDATE blob_contents SET outside = false WHERE digest IN ({unused}) AND {UNUSED} RETURNING digest", (_SWEPT,)
    ).fetchall()
    for (digest,) in rows:
        with connection:
            if connection.execute(
                f"DELETE FROM blob_contents WHERE digest = ? AND NOT outside AND {UNUSED} RETURNING 1", (digest,)
            ).fetchone():
                outside.remove(cast("bytes", digest))
    return len(rows) == _SWEPT


def draft(folder: Path) -> Path:
    return folder / f"{uuid.uuid4().hex}.draft"


def _is_kept(connection: Connection, digest: bytes) -> bool:
    """Locks the row of the contents, which is made if it is missing."""
    connection.execute(_TOUCH, (digest,))
    return bool(
        connection.execute(
            "SELECT 1 FROM blob_contents WHERE digest = ?1 AND "
            "(outside OR EXISTS (SELECT 1 FROM blob_pieces WHERE digest = ?1))",
            (digest,),
        ).fetchone()
    )


def _pieces(connection: Connection, digest: bytes) -> Iterator[bytes]:
    number = 0
    while row := connection.execute(
        "SELECT body FROM blob_pieces WHERE digest = ? AND number = ?", (digest, number)
    ).fetchone():
        yield cast("bytes", row[0])
        number += 1


def _after(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
