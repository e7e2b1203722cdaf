"""The store of memory stores."""

import unicodedata

import msgspec

from everyagent.errors import BadRequest
from everyagent.log.records import Delete, RecordQuery, Records, Replace
from everyagent.managed.field_limits import checked_metadata, merged_metadata
from everyagent.managed.memory.shape import MemoryStore, MemoryStoreBody, MemoryStoreCreate, MemoryStoreUpdate
from everyagent.managed.resources.record_store import Deleted, RecordStore, retry_on_change
from everyagent.model.ids import new_id
from everyagent.sessions.locks import Locks

KIND = "memory_store"
MEMORY_KIND = "memory"
VERSION_KIND = "memory_version"
_SLICE = 500


class MemoryStores(RecordStore[MemoryStoreBody, MemoryStore]):
    def __init__(self, records: Records, locks: Locks) -> None:
        super().__init__(records, KIND, MemoryStoreBody, MemoryStore)
        self._locks = locks

    async def create(self, asked: MemoryStoreCreate) -> MemoryStore:
        body = MemoryStoreBody(
            name=_checked(asked.name),
            description=asked.description or "",
            metadata=checked_metadata(asked.metadata or {}),
        )
        return await self._insert(new_id("memstore_"), body)

    @retry_on_change
    async def update(self, store_id: str, asked: MemoryStoreUpdate) -> MemoryStore:
        record = await self._find_active(store_id)
        old = self._body(record)
        new = MemoryStoreBody(
            name=_checked(asked.name) if asked.name else old.name,
            description=old.description if asked.description is None else asked.description,
            metadata=merged_metadata(old.metadata, asked.metadata) if asked.metadata else old.metadata,
        )
        if new != old:
            change = Replace(kind=KIND, id=store_id, version=record.version, body=msgspec.json.encode(new))
            (record,) = await self._records.write(change)
        return self._shown(record)

    async def delete(self, id: str) -> Deleted:
        """Deletes its memories and their versions with it, in slices, so that other writes get their turn.

        If the daemon stops in between, the request has to be sent again.
        """
        async with self._locks.hold(id):
            await self._records.find(KIND, id)
            for kind in (VERSION_KIND, MEMORY_KIND):
                wanted = RecordQuery(kind=kind, parent=id, limit=_SLICE)
                while found := await self._records.page(wanted):
                    await self._records.write(*(Delete(kind=kind, id=record.id) for record in found))
            return await super().delete(id)


def _checked(name: str) -> str:
    if any(unicodedata.category(char) == "Cc" for char in name):
        raise BadRequest("A memory store's name has no control characters.", field="name")
    return name
