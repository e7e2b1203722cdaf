"""The `Records` on SQL: in the log's own database, through its one writer."""

import asyncio
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from everyagent.log.audit import AuditEntry
from everyagent.log.records import Change, Record, RecordQuery, Uploaded
from everyagent.log.sql import records
from everyagent.log.sql.connection import Connection
from everyagent.log.sql.job_thread import JobThread
from everyagent.log.sql.jobs import Readers


class SqlRecords(ABC):
    def __init__(self, writer: JobThread, readers: Readers[Connection], draft: Callable[[], Path]) -> None:
        """`draft` is a new path for an upload."""
        self._writer = writer
        self._readers = readers
        self._draft = draft

    async def write(self, *changes: Change, audit: AuditEntry | None = None) -> list[Record]:
        return await self._writer.submit(lambda group: records.write(group, changes, audit))

    async def find(self, kind: str, id: str) -> Record:
        return await self._readers.read(partial(records.find, kind=kind, id=id))

    async def page(self, query: RecordQuery) -> list[Record]:
        return await self._readers.read(partial(records.page, query=query))

    async def count(self, kind: str, parent: str) -> int:
        return await self._readers.read(partial(records.count, kind=kind, parent=parent))

    @asynccontextmanager
    async def upload(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[Uploaded]:
        path = self._draft()
        digest, size = hashlib.sha256(), 0
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                async for piece in pieces:
                    digest.update(piece)
                    size += len(piece)
                    await asyncio.to_thread(file.write, piece)
                file.flush()
                await asyncio.to_thread(os.fsync, descriptor)
            yield Uploaded(path, digest.digest(), size)
        finally:
            path.unlink(missing_ok=True)

    @abstractmethod
    async def blob(self, digest: bytes) -> BinaryIO: ...
