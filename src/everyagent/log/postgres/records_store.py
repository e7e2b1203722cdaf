"""The `Records` on PostgreSQL: uploads are files of this machine until a record is inserted with them."""

from functools import partial
from pathlib import Path
from typing import BinaryIO

from everyagent.errors import RecordNotFound
from everyagent.log.audit import AuditEntry
from everyagent.log.postgres import blobs
from everyagent.log.postgres.blobs import PostgresBlobs
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.readers import ReaderThreads
from everyagent.log.records import Change, Insert, Record
from everyagent.log.sql.jobs import JobWriter
from everyagent.log.sql.records_store import SqlRecords


class PostgresRecords(SqlRecords):
    def __init__(self, writer: JobWriter, readers: ReaderThreads, folder: Path) -> None:
        super().__init__(writer, readers, partial(blobs.draft, folder))
        self._threads = readers
        self._folder = folder

    async def write(self, *changes: Change, audit: AuditEntry | None = None) -> list[Record]:
        """Uploads are stored first, in a transaction of their own: a big one holds up no other commit."""
        uploads = [upload for change in changes if isinstance(change, Insert) for upload in change.uploads]

        def store(connection: Connection) -> None:
            for upload in uploads:
                with connection:
                    PostgresBlobs(connection).adopt(upload.path, upload.digest)

        if uploads:
            await self._threads.read(store)
        written = await super().write(*changes, audit=audit)
        for upload in uploads:
            upload.path.unlink(missing_ok=True)
        return written

    async def blob(self, digest: bytes) -> BinaryIO:
        try:
            return await self._threads.read(partial(blobs.open_copy, digest=digest, folder=self._folder))
        except FileNotFoundError:
            raise RecordNotFound("The content is gone: it was deleted.") from None
