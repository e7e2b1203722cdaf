"""Pages of lists, and cursors that carry the order they were made for."""

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from everyagent.errors import BadRequest
from everyagent.log.log import Order
from everyagent.log.records import Record, RecordQuery, Records

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True, kw_only=True):
    """`next_page` is the cursor of the next page; null on the last one."""

    data: list[T]
    next_page: str | None = None


def cursor(after: int, order: Order) -> str:
    text = f"{order}:{after}".encode()
    return "page_" + base64.urlsafe_b64encode(text).decode().rstrip("=")


def position(page: str, order: Order) -> int:
    """Decodes a cursor."""
    try:
        encoded = page.removeprefix("page_")
        made, _, after = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii").partition(":")
        number = int(after)
    except (binascii.Error, ValueError):
        raise BadRequest(
            "`page` is no cursor of ours. Use the `next_page` of the page before, as it came.", field="page"
        ) from None
    if made != order or not -(1 << 62) < number < 1 << 62:
        raise BadRequest(f"This `page` was made for the order {made!r}. Start again without it.", field="page")
    return number


async def page_of(records: Records, query: RecordQuery, page: str | None, shown: Callable[[Record], T]) -> Page[T]:
    after = position(page, query.order) if page else None
    found = await records.page(replace(query, after=after))
    more = len(found) > query.limit
    found = found[: query.limit]
    return Page(
        data=[shown(record) for record in found], next_page=cursor(found[-1].number, query.order) if more else None
    )


async def filtered_page(
    records: Records, query: RecordQuery, page: str | None, shown: Callable[[Record], T], wanted: Callable[[T], bool]
) -> Page[T]:
    """A page of those that are wanted, for filters that the records do not have."""
    after = position(page, query.order) if page else None
    found: list[tuple[int, T]] = []
    more = True
    while more and len(found) <= query.limit:
        some = await records.page(replace(query, after=after))
        more, some = len(some) > query.limit, some[: query.limit]
        each = ((record.number, shown(record)) for record in some)
        found += [(number, value) for number, value in each if wanted(value)]
        after = some[-1].number if some else after
    rest, found = len(found) > query.limit, found[: query.limit]
    return Page(data=[value for _, value in found], next_page=cursor(found[-1][0], query.order) if rest else None)


def micros(moment: datetime | None) -> int | None:
    """Microseconds since the epoch; a time without a zone is taken as UTC."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1_000_000)
