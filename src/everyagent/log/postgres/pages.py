"""Reads events: pages, replays and joined pages, all by `read_page` and one query builder."""

from functools import cache, partial

import msgspec

from everyagent.log.blobs import INLINE_BYTES
from everyagent.log.letter_case import regex
from everyagent.log.log import EventPage, EventQuery, JoinedPage, Order
from everyagent.log.postgres.blobs import BlobReader
from everyagent.log.postgres.connection import Connection
from everyagent.log.sql.checked_pages import EventRow, columns, page_of
from everyagent.log.sql.connection import Value
from everyagent.log.sql.rows import NUMBER_MASK
from everyagent.log.sql.spans import ALL_TYPES, SHOWN, EventRange, PageShape, head_by_id, span_of


def page(connection: Connection, blobs: BlobReader, query: EventQuery) -> EventPage:
    span = span_of(connection, query, str)
    return read_page(connection, blobs, span, PageShape(order=query.order, raw=query.raw))


def joined_page(
    connection: Connection, blobs: BlobReader, session_id: str, query: EventQuery, *, projection: bool
) -> JoinedPage:
    session, head, hidden = head_by_id(connection, session_id, projection=projection)
    query = msgspec.structs.replace(query, session=session, types=query.types or (SHOWN if hidden else frozenset()))
    events, more = page(connection, blobs, query)
    last = events[-1].sequence if events else 0
    return JoinedPage(b",".join([event.body for event in events]), more, head, last)


def read_page(connection: Connection, blobs: BlobReader, span: EventRange, shape: PageShape) -> EventPage:
    values: list[Value] = [span.low, span.high, span.limit, shape.size]
    if span.types != ALL_TYPES:
        values.append(span.types)
    if span.pattern:
        values.append(span.pattern.lower() if span.pattern.isascii() else regex(span.pattern))
    statement = _sql(span.types != ALL_TYPES, _match(span.pattern), shape.order, raw=shape.raw)
    rows = connection.execute(statement, values).fetchall()
    return page_of(connection, rows, partial(blobs.get, connection), span, shape)


def _match(pattern: str) -> str:
    """The condition that a body in lower case must meet; empty for none."""
    if not pattern:
        return ""
    return "strpos({}, {}) > 0" if pattern.isascii() else "{} ~ {}"


@cache
def _sql(typed: bool, match: str, order: Order, *, raw: bool) -> str:
    """The parameters are low, high, limit and size, then types and text if they are used.

    The window leaves out rows beyond the size, so that a page of big events is not sent whole.
    """
    length = f"coalesce(length(events.body), {INLINE_BYTES})"
    lowered = "lower(convert_from(events.body, 'UTF8') COLLATE \"C\")"
    join = f"LEFT JOIN frames ON frames.key = (events.key & ~{NUMBER_MASK}::bigint) | events.frame" if raw else ""
    frame_length = f" + coalesce(length(frames.body), {INLINE_BYTES})" if raw else ""
    clauses = (
        f"SELECT {columns(raw=raw)},",
        f"sum({length}{frame_length}) OVER (ORDER BY events.key {order}) - {length}{frame_length.replace('+', '-')}",
        f"AS before FROM events {join} WHERE events.key > ?1 AND events.key < ?2",
        "AND (?5::bigint >> type) & 1 = 1" if typed else "",
        f"AND events.body IS NOT NULL AND {match.format(lowered, '?6' if typed else '?5')}" if match else "",
        f"ORDER BY events.key {order} LIMIT ?3",
    )
    names = ", ".join(EventRow._fields)
    return f"SELECT {names} FROM ({' '.join(clauses)}) AS page ({names}, before) WHERE before <= ?4"
