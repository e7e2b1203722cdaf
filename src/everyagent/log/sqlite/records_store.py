"""The `Records` on SQLite: their contents are files."""

import asyncio
from typing import BinaryIO

from everyagent.errors import RecordNotFound
from everyagent.log.blobs import Blobs
from everyagent.log.sql.records_store import SqlRecords
from everyagent.log.sqlite.readers import ReaderThreads
from everyagent.log.sqlite.writer import Writer


class SqliteRecords(SqlRecords):
    def __init__(self, writer: Writer, readers: ReaderThreads, blobs: Blobs) -> None:
        super().__init__(writer, readers, blobs.draft)
        self._blobs = blobs

    async def blob(self, digest: bytes) -> BinaryIO:
        try:
            return await asyncio.to_thread(self._blobs.open, digest)
        except FileNotFoundError:
            raise RecordNotFound("The content is gone: it was deleted.") from None
