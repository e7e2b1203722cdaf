"""The `Records` on PostgreSQL: uploads are files of this machine until a record is inserted with them."""

import asyncio
from functools import partial
from pathlib import Path
from typing import BinaryIO

import psycopg

from everyagent.errors import RecordNotFound
from everyagent.log.audit import AuditEntry
from everyagent.log.postgres import blobs
from everyagent.log.postgres.blobs import BlobReader, PostgresBlobs
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.database import Database
from everyagent.log.postgres.readers import ReaderThreads
from everyagent.log.records import Change, Insert, Record, Uploaded
from everyagent.log.sql.job_thread import JobThread
from everyagent.log.sql.records_store import SqlRecords


class PostgresRecords(SqlRecords):
    def __init__(
        self, writer: JobThread, readers: ReaderThreads, database: Database, reader: BlobReader, folder: Path
    ) -> None:
        super().__init__(writer, readers, partial(blobs.draft, folder))
        self._threads = readers
        self._database = database
        self._reader = reader

    async def write(self, *changes: Change, audit: AuditEntry | None = None) -> list[Record]:
        """Uploads are stored first, in transactions of their own: a big one holds up no other commit."""
        uploads = [upload for change in changes if isinstance(change, Insert) for upload in change.uploads]

        def store(connection: Connection) -> None:
            for upload in uploads:
                with connection:
                    PostgresBlobs(connection).adopt(upload.path, upload.digest)

        if uploads and self._reader.outside is None:
            await self._threads.read(store)
        elif uploads:
            await asyncio.to_thread(self._store_outside, uploads)
        written = await super().write(*changes, audit=audit)
        for upload in uploads:
            upload.path.unlink(missing_ok=True)
        return written

    def _store_outside(self, uploads: list[Uploaded]) -> None:
        """With a connection of its own, because the store may be slow, and the threads of readers are few."""
        assert self._reader.outside is not None
        connection = self._database.connect()
        try:
            for upload in uploads:
                with upload.path.open("rb") as file:
                    blobs.put_outside(connection, self._reader.outside, upload.digest, file)
        except psycopg.Error as error:
            raise self._database.away(str(error).strip()) from error
        finally:
            connection.close()

    async def blob(self, digest: bytes) -> BinaryIO:
        try:
            copy = await self._threads.read(partial(self._reader.copy_inside, digest=digest))
            return copy or await asyncio.to_thread(self._reader.copy_outside, digest)
        except FileNotFoundError:
            raise RecordNotFound("The content is gone: it was deleted.") from None
