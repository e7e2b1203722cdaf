"""Reads events: pages, replays and joined pages, all by `read_page` and one query builder."""

from collections.abc import Iterator
from functools import cache
from typing import cast

import msgspec

from everyagent.log.blobs import INLINE_BYTES
from everyagent.log.letter_case import regex
from everyagent.log.log import EventPage, EventQuery, JoinedPage, Order, StoredEvent
from everyagent.log.postgres.blobs import BlobReader
from everyagent.log.postgres.connection import Connection
from everyagent.log.sql.connection import Value
from everyagent.log.sql.rows import FORMS, NUMBER_MASK
from everyagent.log.sql.spans import ALL_TYPES, SHOWN, PageShape, Span, head_by_id, span_of, with_raw


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


def read_page(connection: Connection, blobs: BlobReader, span: Span, shape: PageShape) -> EventPage:
    """At most `span.limit - 1` events: the last row only shows that there are more."""
    wanted = span.limit - 1
    events: list[StoredEvent] = []
    size = 0
    for event in _events(connection, blobs, span, shape):
        size += len(event.body)
        if events and (size > shape.size or len(events) == wanted):
            return EventPage(events, True)
        events.append(event)
    return EventPage(events, False)


def _events(connection: Connection, blobs: BlobReader, span: Span, shape: PageShape) -> Iterator[StoredEvent]:
    values: list[Value] = [span.low, span.high, span.limit, shape.size]
    if span.types != ALL_TYPES:
        values.append(span.types)
    if span.pattern:
        values.append(span.pattern.lower() if span.pattern.isascii() else regex(span.pattern))
    statement = _sql(span.types != ALL_TYPES, _match(span.pattern), shape.order, raw=shape.raw)
    rows = connection.execute(statement, values).fetchall()
    for number, type_, inline, blob, form, frame, frame_blob in cast(
        "list[tuple[int, int, bytes, bytes | None, int | None, bytes, bytes | None]]", rows
    ):
        body = inline if blob is None else blobs.get(connection, blob)
        if form is not None:
            body = with_raw(body, FORMS[form], frame if frame_blob is None else blobs.get(connection, frame_blob))
        yield StoredEvent(number, type_, body)


def _match(pattern: str) -> str:
    """How a body in lower case is matched; empty if it is not."""
    if not pattern:
        return ""
    return "strpos({}, {}) > 0" if pattern.isascii() else "{} ~ {}"


@cache
def _sql(typed: bool, match: str, order: Order, *, raw: bool) -> str:
    """The parameters are low, high, limit and size, then types and text if they are used.

    The window leaves out rows beyond the size, so that a page of big events is not sent whole.
    """
    length = f"coalesce(length(events.body), {INLINE_BYTES})"
    frame = "frames.form, frames.body, frames.blob" if raw else "NULL::smallint, NULL::bytea, NULL::bytea"
    lowered = "lower(convert_from(events.body, 'UTF8') COLLATE \"C\")"
    join = f"LEFT JOIN frames ON frames.key = (events.key & ~{NUMBER_MASK}::bigint) | events.frame" if raw else ""
    frame_length = f" + coalesce(length(frames.body), {INLINE_BYTES})" if raw else ""
    clauses = (
        f"SELECT events.key & {NUMBER_MASK}, type, events.body, events.blob, {frame},",
        f"sum({length}{frame_length}) OVER (ORDER BY events.key {order}) - {length}{frame_length.replace('+', '-')}",
        f"AS before FROM events {join} WHERE events.key > ?1 AND events.key < ?2",
        "AND (?5::bigint >> type) & 1 = 1" if typed else "",
        f"AND events.body IS NOT NULL AND {match.format(lowered, '?6' if typed else '?5')}" if match else "",
        f"ORDER BY events.key {order} LIMIT ?3",
    )
    names = "number, type, body, blob, form, frame, frame_blob"
    return f"SELECT {names} FROM ({' '.join(clauses)}) AS page ({names}, before) WHERE before <= ?4"
