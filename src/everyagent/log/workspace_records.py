"""Records as the current principal sees them: those of its workspace, and no others."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import BinaryIO

from msgspec.structs import replace

from everyagent.errors import RecordNotFound
from everyagent.log.audit import AuditEntry
from everyagent.log.pending_audit import take_pending
from everyagent.log.records import Change, Insert, Record, RecordQuery, Records, Uploaded
from everyagent.model.principals import current


class WorkspaceRecords:
    """A `Records`. New records belong to the workspace of the principal, unless their parent has another."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def write(self, *changes: Change, audit: AuditEntry | None = None) -> list[Record]:
        principal, inserted = current(), set[str]()
        for change in changes:
            if isinstance(change, Insert):
                inserted.add(change.id)
            elif principal.workspace is not None and change.id not in inserted:
                await self.find(change.kind, change.id)
        placed = [
            replace(each, workspace=principal.creates_in) if isinstance(each, Insert) else each for each in changes
        ]
        return await self._records.write(*placed, audit=audit or take_pending())

    async def find(self, kind: str, id: str) -> Record:
        record = await self._records.find(kind, id)
        if not current().sees(record.workspace):
            raise RecordNotFound(f"There is no {kind.replace('_', ' ')} {id!r}.", kind=kind, id=id)
        return record

    async def page(self, query: RecordQuery) -> list[Record]:
        return await self._records.page(replace(query, workspace=current().workspace))

    async def count(self, kind: str, parent: str) -> int:
        """The caller has found the parent."""
        return await self._records.count(kind, parent)

    def upload(self, pieces: AsyncIterator[bytes]) -> AbstractAsyncContextManager[Uploaded]:
        return self._records.upload(pieces)

    async def blob(self, digest: bytes) -> BinaryIO:
        """The caller has the digest from a record that it found."""
        return await self._records.blob(digest)
