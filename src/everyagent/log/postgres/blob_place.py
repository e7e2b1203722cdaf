"""Checks at the start that the store for blobs is the one that the database refers to."""

import uuid
from typing import cast

from everyagent.errors import BlobsUnavailable
from everyagent.log.blob_stores.store import BlobStore
from everyagent.log.postgres.connection import Connection


def check(connection: Connection, database: str, outside: BlobStore | None) -> None:
    """At first use, the store gets an id, which the database keeps. Raises `BlobsUnavailable`."""
    with connection:
        connection.execute("LOCK TABLE blob_store")  # several nodes may start at once
        row = cast("tuple[str, str] | None", connection.execute("SELECT log_id, name FROM blob_store").fetchone())
        if outside is None:
            if row is not None:
                raise BlobsUnavailable(f"Blobs of the PostgreSQL store {database} are in {row[1]}. Give its address.")
            return
        log_id, marker = row[0] if row else None, outside.marker()
        if marker != log_id:
            raise BlobsUnavailable(
                f"{outside.name} has no blobs of the PostgreSQL store {database}, which are in {row[1]}."
                if row and marker is None
                else f"{outside.name} has the blobs of another log than the PostgreSQL store {database}. "
                "Choose another bucket, prefix or folder."
            )
        log_id = log_id or uuid.uuid4().hex
        outside.mark(log_id)  # each time, to find out now that it cannot be written to
        connection.execute("DELETE FROM blob_store")
        connection.execute("INSERT INTO blob_store VALUES (1, ?, ?)", (log_id, outside.name))
