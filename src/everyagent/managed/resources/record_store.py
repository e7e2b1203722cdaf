"""Create, list, update, archive and delete for resources that are kept as JSON records."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import wraps
from types import CoroutineType
from typing import Generic, ParamSpec, TypeVar

import msgspec
from msgspec import Struct

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest, NotFound, RecordChanged
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.managed.field_limits import PageLimit
from everyagent.managed.resources.pages import Page, micros, page_of

P = ParamSpec("P")
T = TypeVar("T")
B = TypeVar("B", bound=Struct)
S = TypeVar("S", bound=Struct)


class Deleted(Struct, frozen=True, kw_only=True):
    """The answer to a request that deleted something."""

    id: str
    type: str


class ListQuery(Struct, frozen=True, kw_only=True):
    include_archived: bool = False
    limit: PageLimit = 20
    page: str | None = None


class DatedListQuery(Struct, frozen=True, kw_only=True):
    created_at_gte: datetime | None = None
    created_at_lte: datetime | None = None
    include_archived: bool = False
    limit: PageLimit = 20
    page: str | None = None


def retry_on_change(method: Callable[P, Awaitable[T]]) -> "Callable[P, CoroutineType[object, object, T]]":
    """Runs a read-and-write again when a record changed between its read and its write."""

    @wraps(method)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        while True:
            try:
                return await method(*args, **kwargs)
            except RecordChanged:
                continue

    return run


async def find_in(records: Records, kind: str, id: str, parent: str, missing: str) -> Record:
    """A record of the parent. Raises an error that names what is `missing` if it belongs to another parent."""
    record = await records.find(kind, id)
    if record.parent != parent:
        raise NotFound(missing)
    return record


def moment(at: int | None) -> str | None:
    """Microseconds as the API shows times."""
    return None if at is None else rfc3339(at)


def shown_as(shape: type[S], record: Record, body: Struct, **more: object) -> S:
    """A record as clients see it: the fields of its body, its id and times, and `more`."""
    return shape(
        id=record.id,
        created_at=rfc3339(record.created_at),
        updated_at=rfc3339(record.updated_at),
        archived_at=moment(record.archived_at),
        **more,
        **msgspec.structs.asdict(body),
    )


class RecordStore(Generic[B, S]):
    """Records of one kind. `body` is what is stored in each; `shape` is what clients see: the body's fields, the id
    and the times.
    """

    def __init__(self, records: Records, kind: str, body: type[B], shape: type[S]) -> None:
        self._records = records
        self._kind = kind
        self._body_type = body
        self._shape = shape

    async def retrieve(self, id: str) -> S:
        return self._shown(await self._records.find(self._kind, id))

    async def retrieve_active(self, id: str) -> S:
        """Refuses an archived one."""
        return self._shown(await self._find_active(id))

    async def list(self, query: ListQuery | DatedListQuery) -> Page[S]:
        """Newest first."""
        dated = isinstance(query, DatedListQuery)
        wanted = RecordQuery(
            kind=self._kind,
            limit=query.limit,
            archived=query.include_archived,
            since=micros(query.created_at_gte) if dated else None,
            until=micros(query.created_at_lte) if dated else None,
        )
        return await page_of(self._records, wanted, query.page, self._shown)

    async def archive(self, id: str) -> S:
        """Archived records can be read, and their keys are free again."""
        return self._shown(await archived(self._records, self._kind, id))

    async def delete(self, id: str) -> Deleted:
        await self._records.write(Delete(kind=self._kind, id=id))
        return Deleted(id=id, type=f"{self._kind}_deleted")

    async def _insert(self, id: str, body: B, key: str | None = None) -> S:
        insert = Insert(kind=self._kind, id=id, key=key, body=msgspec.json.encode(body))
        (record,) = await self._records.write(insert)
        return self._shown(record)

    async def _find_active(self, id: str) -> Record:
        record = await self._records.find(self._kind, id)
        if record.archived_at is not None:
            raise self.archived_error(id)
        return record

    def archived_error(self, id: str) -> BadRequest:
        return BadRequest(
            f"The {self._kind.replace('_', ' ')} {id} is archived: it can be read, but not used or changed.",
            error_code=f"{self._kind}_archived",
        )

    def _body(self, record: Record) -> B:
        return msgspec.json.decode(record.body, type=self._body_type)

    def _shown(self, record: Record) -> S:
        return shown_as(self._shape, record, self._body(record))


@retry_on_change
async def archived(records: Records, kind: str, id: str) -> Record:
    """The record, archived now or earlier."""
    record = await records.find(kind, id)
    if record.archived_at is not None:
        return record
    change = Replace(kind=kind, id=id, version=record.version, body=record.body, key=None, archived=True)
    (record,) = await records.write(change)
    return record
