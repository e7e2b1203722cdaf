"""The memories of a store. Clients and sessions read and change them; each change makes a version."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest, EveryagentError
from everyagent.log import records as log
from everyagent.log.records import RecordQuery, Records
from everyagent.managed.memory.changes import (
    CreateMemory,
    MemoryChange,
    MemoryIndex,
    RemoveMemory,
    StoredMemory,
    UpdateMemory,
    held,
)
from everyagent.managed.memory.contents import bytes_of, changes_of, once
from everyagent.managed.memory.paths import cursor_of, entries, place_of
from everyagent.managed.memory.shape import (
    MAX_FULL_PAGE,
    MAX_MEMORIES,
    Memory,
    MemoryActor,
    MemoryCreate,
    MemoryListQuery,
    MemoryPrefix,
    MemoryUpdate,
    MemoryView,
)
from everyagent.managed.memory.stores import MEMORY_KIND, MemoryStores
from everyagent.managed.resources.pages import Page
from everyagent.managed.resources.record_store import Deleted
from everyagent.sessions.locks import Locks


class Memories:
    """A store is locked for each operation, so that reads still hold when something is written."""

    def __init__(self, records: Records, stores: MemoryStores, locks: Locks) -> None:
        self._records = records
        self._stores = stores
        self._locks = locks

    async def create(self, store_id: str, asked: MemoryCreate, actor: MemoryActor, view: MemoryView) -> Memory:
        return await self._one(
            store_id, CreateMemory(path=asked.path, content=(asked.content or "").encode()), actor, view
        )

    async def update(
        self, store_id: str, memory_id: str, asked: MemoryUpdate, actor: MemoryActor, view: MemoryView
    ) -> Memory:
        change = UpdateMemory(
            id=memory_id,
            path=asked.path,
            content=None if asked.content is None else asked.content.encode(),
            expected=asked.precondition.content_sha256 if asked.precondition else None,
        )
        return await self._one(store_id, change, actor, view)

    async def delete(self, store_id: str, memory_id: str, expected: str | None, actor: MemoryActor) -> Deleted:
        (outcome,) = await self.change(store_id, [RemoveMemory(id=memory_id, expected=expected)], actor)
        if isinstance(outcome, EveryagentError):
            raise outcome
        return Deleted(id=memory_id, type="memory_deleted")

    async def retrieve(self, store_id: str, memory_id: str, view: MemoryView) -> Memory:
        async with self._locks.hold(store_id):
            book = await self._book(store_id)
            return await self._shown(store_id, book.at(memory_id), view)

    async def list(self, store_id: str, asked: MemoryListQuery) -> Page[Memory | MemoryPrefix]:
        if not asked.path_prefix.startswith("/"):
            raise BadRequest("`path_prefix` begins with `/`.", field="path_prefix")
        limit = min(asked.limit, MAX_FULL_PAGE) if asked.view == "full" else asked.limit
        place = place_of(asked.page, asked.order) if asked.page else None
        async with self._locks.hold(store_id):
            found = (await self._book(store_id)).by_path()
            listed = [*entries(found, asked.path_prefix, asked.depth)]
            if asked.order == "desc":
                listed.reverse()
            if place is not None:
                listed = [
                    each for each in listed if (each.path < place if asked.order == "desc" else each.path > place)
                ]
            page = listed[:limit]
            data = [
                MemoryPrefix(path=each.path)
                if each.is_prefix
                else await self._shown(store_id, found[each.path], asked.view)
                for each in page
            ]
        return Page(data=data, next_page=cursor_of(page[-1].path, asked.order) if len(listed) > limit else None)

    async def held(self, store_id: str) -> dict[str, StoredMemory]:
        """All memories of a store, by path."""
        return (await self._book(store_id)).by_path()

    async def content(self, memory: StoredMemory) -> bytes:
        return await bytes_of(self._records, memory.sha256)

    async def change(
        self, store_id: str, changes: Sequence[MemoryChange], actor: MemoryActor
    ) -> "list[StoredMemory | EveryagentError | None]":
        """Makes all valid changes in one transaction. Returns the memory, an error, or None for a removal, for each."""
        outcomes: list[StoredMemory | EveryagentError | None] = []
        writes: list[log.Change] = []
        async with self._locks.hold(store_id), AsyncExitStack() as uploads:
            closed = (await self._stores.retrieve(store_id)).archived_at is not None
            book = await self._book(store_id)
            for change in changes:
                if closed and not isinstance(change, RemoveMemory):
                    outcomes.append(self._stores.archived_error(store_id))
                    continue
                try:
                    planned = book.plan(change)
                except EveryagentError as error:
                    outcomes.append(error)
                    continue
                uploaded = None
                if planned.content is not None:
                    uploaded = await uploads.enter_async_context(self._records.upload(once(planned.content)))
                writes += changes_of(store_id, planned, actor, uploaded)
                outcomes.append(planned.after)
            written = {record.id: record for record in await self._records.write(*writes) if record.kind == MEMORY_KIND}
        return [
            held(written[each.id]) if isinstance(each, StoredMemory) and each.id in written else each
            for each in outcomes
        ]

    async def _one(self, store_id: str, change: MemoryChange, actor: MemoryActor, view: MemoryView) -> Memory:
        (outcome,) = await self.change(store_id, [change], actor)
        if isinstance(outcome, EveryagentError):
            raise outcome
        assert outcome is not None
        return await self._shown(store_id, outcome, view)

    async def _book(self, store_id: str) -> MemoryIndex:
        await self._stores.retrieve(store_id)
        wanted = RecordQuery(kind=MEMORY_KIND, parent=store_id, limit=MAX_MEMORIES)
        return MemoryIndex(store_id, await self._records.page(wanted))

    async def _shown(self, store_id: str, memory: StoredMemory, view: MemoryView) -> Memory:
        assert memory.record is not None
        return Memory(
            id=memory.id,
            memory_store_id=store_id,
            memory_version_id=memory.version_id,
            path=memory.path,
            content_sha256=memory.sha256,
            content_size_bytes=memory.size,
            content=(await self.content(memory)).decode() if view == "full" else None,
            created_at=rfc3339(memory.record.created_at),
            updated_at=rfc3339(memory.record.updated_at),
        )
