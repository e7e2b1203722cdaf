"""Memory stores: made, changed, archived, deleted."""

import unicodedata

import msgspec

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest, RecordChanged
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.managed.field_limits import checked_metadata, merged_metadata
from everyagent.managed.memory.store_shape import MemoryStore, StoreBody, StoreCreate, StoreList, StoreUpdate
from everyagent.managed.resources.environments.shape import Deleted
from everyagent.managed.resources.pages import Page, micros, page_of
from everyagent.model.ids import new_id
from everyagent.sessions.locks import Locks

KIND = "memory_store"
MEMORY_KIND = "memory"
VERSION_KIND = "memory_version"
_SLICE = 500


class MemoryStores:
    def __init__(self, records: Records, locks: Locks) -> None:
        self._records = records
        self._locks = locks

    async def create(self, asked: StoreCreate) -> MemoryStore:
        body = StoreBody(
            name=_checked(asked.name),
            description=asked.description or "",
            metadata=checked_metadata(asked.metadata or {}),
        )
        (record,) = await self._records.write(Insert(kind=KIND, id=new_id("memstore_"), body=msgspec.json.encode(body)))
        return _store(record)

    async def retrieve(self, store_id: str) -> MemoryStore:
        return _store(await self._records.find(KIND, store_id))

    async def open(self, store_id: str) -> MemoryStore:
        """One that may be used and changed."""
        store = await self.retrieve(store_id)
        if store.archived_at is not None:
            raise archived(store_id)
        return store

    async def list(self, query: StoreList) -> Page[MemoryStore]:
        wanted = RecordQuery(
            kind=KIND,
            limit=query.limit,
            archived=query.include_archived,
            since=micros(query.created_at_gte),
            until=micros(query.created_at_lte),
        )
        return await page_of(self._records, wanted, query.page, _store)

    async def update(self, store_id: str, asked: StoreUpdate) -> MemoryStore:
        while True:
            await self.open(store_id)
            record = await self._records.find(KIND, store_id)
            old = msgspec.json.decode(record.body, type=StoreBody)
            new = StoreBody(
                name=_checked(asked.name) if asked.name else old.name,
                description=old.description if asked.description is None else asked.description,
                metadata=merged_metadata(old.metadata, asked.metadata) if asked.metadata else old.metadata,
            )
            if new == old:
                return _store(record)
            try:
                (record,) = await self._records.write(
                    Replace(kind=KIND, id=store_id, version=record.version, body=msgspec.json.encode(new))
                )
            except RecordChanged:
                continue
            return _store(record)

    async def archive(self, store_id: str) -> MemoryStore:
        while True:
            record = await self._records.find(KIND, store_id)
            if record.archived_at is not None:
                return _store(record)
            try:
                (record,) = await self._records.write(
                    Replace(kind=KIND, id=store_id, version=record.version, body=record.body, archived=True)
                )
            except RecordChanged:
                continue
            return _store(record)

    async def delete(self, store_id: str) -> Deleted:
        """With its memories and all their versions, slice by slice: others want to write meanwhile.

        One that was cut off is to be asked for again.
        """
        async with self._locks.hold(store_id):
            await self._records.find(KIND, store_id)
            for kind in (VERSION_KIND, MEMORY_KIND):
                wanted = RecordQuery(kind=kind, parent=store_id, limit=_SLICE)
                while found := await self._records.page(wanted):
                    await self._records.write(*(Delete(kind=kind, id=record.id) for record in found))
            await self._records.write(Delete(kind=KIND, id=store_id))
        return Deleted(id=store_id, type="memory_store_deleted")


def _checked(name: str) -> str:
    if any(unicodedata.category(char) == "Cc" for char in name):
        raise BadRequest("A memory store's name has no control characters.", field="name")
    return name


def archived(store_id: str) -> BadRequest:
    return BadRequest(f"The memory store {store_id} is archived.", error_code="memory_store_archived")


def _store(record: Record) -> MemoryStore:
    body = msgspec.json.decode(record.body, type=StoreBody)
    return MemoryStore(
        id=record.id,
        name=body.name,
        description=body.description,
        metadata=body.metadata,
        created_at=rfc3339(record.created_at),
        updated_at=rfc3339(record.updated_at),
        archived_at=None if record.archived_at is None else rfc3339(record.archived_at),
    )
