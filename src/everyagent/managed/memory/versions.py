"""The versions of a store's memories, and their redaction."""

import msgspec
from msgspec.structs import replace

from everyagent.clock import Clock, rfc3339
from everyagent.errors import BadRequest, NotFound, RecordNotFound
from everyagent.log.records import Delete, Record, RecordQuery, Records, Replace
from everyagent.managed.memory.changes import held
from everyagent.managed.memory.contents import CONTENT_KIND, bytes_of, content_id
from everyagent.managed.memory.shape import (
    MAX_FULL_PAGE,
    ApiActor,
    MemoryActor,
    MemoryVersion,
    MemoryVersionBody,
    MemoryVersionListQuery,
    MemoryView,
    SessionActor,
)
from everyagent.managed.memory.stores import MEMORY_KIND, VERSION_KIND, MemoryStores
from everyagent.managed.resources.pages import Page, cursor, micros, position
from everyagent.managed.resources.record_store import find_in, moment
from everyagent.sessions.locks import Locks

_PIECE = 1000


class MemoryVersions:
    def __init__(self, records: Records, stores: MemoryStores, locks: Locks, clock: Clock) -> None:
        self._records = records
        self._stores = stores
        self._locks = locks
        self._clock = clock

    async def retrieve(self, store_id: str, version_id: str, view: MemoryView) -> MemoryVersion:
        async with self._locks.hold(store_id):
            return await self._shown(await self._find(store_id, version_id), view)

    async def list(self, store_id: str, asked: MemoryVersionListQuery) -> Page[MemoryVersion]:
        """The newest first."""
        limit = min(asked.limit, MAX_FULL_PAGE) if asked.view == "full" else asked.limit
        after = position(asked.page, "desc") if asked.page else None
        async with self._locks.hold(store_id):
            await self._stores.retrieve(store_id)
            found = await self._wanted(store_id, asked, after, limit + 1)
            data = [await self._shown(record, asked.view) for record in found[:limit]]
        return Page(data=data, next_page=cursor(found[limit - 1].number, "desc") if len(found) > limit else None)

    async def redact(self, store_id: str, version_id: str, actor: MemoryActor) -> MemoryVersion:
        """Deletes a version's text for good; its author and time stay. The current version is refused."""
        async with self._locks.hold(store_id):
            record = await self._find(store_id, version_id)
            body = _body(record)
            if body.redacted_at is not None:
                return await self._shown(record, "full")
            if await self._latest(body.memory_id) == version_id:
                raise BadRequest(
                    f"{version_id} is what the memory {body.memory_id} says now. Change or delete that first.",
                    error_code="memory_version_is_current",
                )
            gone = replace(body, path=None, sha256=None, size=None, redacted_at=self._clock.micros(), redacted_by=actor)
            change = Replace(kind=VERSION_KIND, id=version_id, version=record.version, body=msgspec.json.encode(gone))
            content = [] if body.sha256 is None else [Delete(kind=CONTENT_KIND, id=content_id(version_id))]
            (record,) = await self._records.write(change, *content)
            return await self._shown(record, "full")

    async def _wanted(
        self, store_id: str, asked: MemoryVersionListQuery, after: int | None, count: int
    ) -> "list[Record]":
        found: list[Record] = []
        query = RecordQuery(
            kind=VERSION_KIND,
            parent=store_id,
            limit=_PIECE,
            since=micros(asked.created_at_gte),
            until=micros(asked.created_at_lte),
        )
        while True:
            page = await self._records.page(replace(query, after=after))
            found += [record for record in page[:_PIECE] if _fits(_body(record), asked)]
            if len(page) <= _PIECE or len(found) >= count:
                return found[:count]
            after = page[_PIECE - 1].number

    async def _find(self, store_id: str, version_id: str) -> Record:
        await self._stores.retrieve(store_id)
        missing = f"There is no memory version {version_id!r} in the memory store {store_id!r}."
        try:
            return await find_in(self._records, VERSION_KIND, version_id, store_id, missing)
        except RecordNotFound:
            raise NotFound(missing) from None

    async def _latest(self, memory_id: str) -> str | None:
        try:
            return held(await self._records.find(MEMORY_KIND, memory_id)).version_id
        except RecordNotFound:
            return None

    async def _shown(self, record: Record, view: MemoryView) -> MemoryVersion:
        body = _body(record)
        content = None
        if view == "full" and body.sha256 is not None:
            content = (await bytes_of(self._records, body.sha256)).decode()
        return MemoryVersion(
            id=record.id,
            memory_id=body.memory_id,
            memory_store_id=record.parent,
            operation=body.operation,
            path=body.path,
            content_sha256=body.sha256,
            content_size_bytes=body.size,
            content=content,
            created_at=rfc3339(record.created_at),
            created_by=body.created_by,
            redacted_at=moment(body.redacted_at),
            redacted_by=body.redacted_by,
        )


def _fits(body: MemoryVersionBody, asked: MemoryVersionListQuery) -> bool:
    actor = body.created_by
    return (
        asked.memory_id in (None, body.memory_id)
        and asked.operation in (None, body.operation)
        and asked.session_id in (None, actor.session_id if isinstance(actor, SessionActor) else "")
        and asked.api_key_id in (None, actor.api_key_id if isinstance(actor, ApiActor) else "")
        and asked.service_account_id is None
    )


def _body(record: Record) -> MemoryVersionBody:
    return msgspec.json.decode(record.body, type=MemoryVersionBody)
