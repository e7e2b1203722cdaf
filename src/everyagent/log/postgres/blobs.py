"""Large bodies in the database, in pieces. `blobs` records which sessions and records refer to which."""

import hashlib
import io
import tempfile
import uuid
from pathlib import Path
from typing import BinaryIO, cast

from everyagent.log.postgres.connection import Connection

PIECE_BYTES = 1 << 20
#: Contents to which nothing refers are kept this long: an upload is stored before the record that refers to it.
UNUSED_HOURS = 2
_SWEPT = 50


class PostgresBlobs:
    """Writes contents inside the transaction of its connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, body: bytes) -> bytes:
        digest = hashlib.sha256(body).digest()
        self._store(digest, io.BytesIO(body))
        return digest

    def adopt(self, path: Path, digest: bytes) -> None:
        with path.open("rb") as file:
            self._store(digest, file)

    def _store(self, digest: bytes, file: BinaryIO) -> None:
        """The row of the contents stays locked, so that no sweep deletes them before a reference is committed."""
        self._connection.execute(
            "INSERT INTO blob_contents VALUES (?, now()) ON CONFLICT (digest) DO UPDATE SET at = excluded.at", (digest,)
        )
        if self._connection.execute("SELECT 1 FROM blob_pieces WHERE digest = ? LIMIT 1", (digest,)).fetchone():
            return
        number = 0
        while (piece := file.read(PIECE_BYTES)) or not number:
            self._connection.execute("INSERT INTO blob_pieces VALUES (?, ?, ?)", (digest, number, piece))
            number += 1


def get(connection: Connection, digest: bytes) -> bytes:
    rows = connection.execute("SELECT body FROM blob_pieces WHERE digest = ? ORDER BY number", (digest,)).fetchall()
    return b"".join(cast("bytes", body) for (body,) in rows)


def open_copy(connection: Connection, digest: bytes, folder: Path) -> BinaryIO:
    """A copy without a name. `FileNotFoundError` if nothing refers to the blob."""
    if not connection.execute("SELECT 1 FROM blobs WHERE digest = ? LIMIT 1", (digest,)).fetchone():
        raise FileNotFoundError(digest.hex())
    copy = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - the caller closes it
    number = 0
    while row := connection.execute(
        "SELECT body FROM blob_pieces WHERE digest = ? AND number = ?", (digest, number)
    ).fetchone():
        copy.write(cast("bytes", row[0]))
        number += 1
    copy.seek(0)
    return cast("BinaryIO", copy)


def sweep(connection: Connection) -> bool:
    """Deletes some contents to which nothing refers. True if there may be more."""
    rows = connection.execute(
        "DELETE FROM blob_contents WHERE digest IN (SELECT digest FROM blob_contents "
        f"WHERE at < now() - interval '{UNUSED_HOURS} hours' AND NOT EXISTS "
        "(SELECT 1 FROM blobs WHERE blobs.digest = blob_contents.digest) LIMIT ?) "
        f"AND at < now() - interval '{UNUSED_HOURS} hours' RETURNING 1",
        (_SWEPT,),
    ).fetchall()
    return len(rows) == _SWEPT


def draft(folder: Path) -> Path:
    return folder / f"{uuid.uuid4().hex}.draft"
