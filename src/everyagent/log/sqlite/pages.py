"""Reads events: pages, replays and joined pages, all by `read_page` and one query builder.

A page is one statement and one row, its bodies joined by newlines (no body has one): a thread that fetched row by
row would wait for the interpreter at every row while the event loop is busy.
"""

from collections.abc import Iterator
from functools import cache
from typing import cast

import apsw
import msgspec

from everyagent.log.blobs import Blobs
from everyagent.log.letter_case import glob
from everyagent.log.log import EventPage, EventQuery, JoinedPage, Order, StoredEvent
from everyagent.log.sql.rows import FORMS, NUMBER_MASK, key
from everyagent.log.sql.spans import SHOWN, PageShape, Span, head_by_id, span_of, with_raw
from everyagent.log.sqlite.connection import Connection, Row

_JSON = FORMS.index("json")


def page(connection: Connection, blobs: Blobs, query: EventQuery) -> EventPage:
    return read_page(connection, blobs, span(connection, query), PageShape(order=query.order, raw=query.raw))


def span(connection: Connection, query: EventQuery) -> Span:
    return span_of(connection, query, lambda text: f"*{glob(text)}*")


def read_page(connection: Connection, blobs: Blobs, span: Span, shape: PageShape) -> EventPage:
    """At most `span.limit - 1` events: the last row only shows that there are more."""
    joined = _joined(connection, span, shape)
    wanted = span.limit - 1
    if joined is not None:
        return EventPage(joined[:wanted], len(joined) > wanted)
    events: list[StoredEvent] = []
    size = 0
    for event in _one_by_one(connection, blobs, span, shape):
        size += len(event.body)
        if events and (size > shape.size or len(events) == wanted):
            return EventPage(events, True)
        events.append(event)
    return EventPage(events, False)


def joined_page(
    connection: Connection, blobs: Blobs, session_id: str, query: EventQuery, *, projection: bool
) -> JoinedPage:
    session, head, hidden = head_by_id(connection, session_id, projection=projection)
    query = msgspec.structs.replace(query, session=session, types=query.types or (SHOWN if hidden else frozenset()))
    if query == EventQuery(session=session, after=query.after, limit=query.limit):
        unfiltered = _unfiltered(connection, query, head)
        if unfiltered is not None:
            return unfiltered
    events, more = page(connection, blobs, query)
    last = events[-1].sequence if events else 0
    return JoinedPage(b",".join([event.body for event in events]), more, head, last)


def _unfiltered(connection: Connection, query: EventQuery, head: int) -> JoinedPage | None:
    """Every event after a sequence: sequences have no gap, so their number is known, and SQLite can join them."""
    last = min(head, query.after + query.limit)
    count = last - query.after
    if query.after < 0 or count <= 0:
        return JoinedPage(b"", False, head, 0)
    span = Span(key(query.session, query.after), key(query.session, last) + 1)
    row = _one_row(connection, _BODIES, span, PageShape())
    if row is None or row[0] != count:
        return None
    return JoinedPage(cast("bytes", row[1]), last < head, head, last)


#: Aggregates over the span's `key`, `type` and `body`, or over its `body` alone.
_BODIES = "count(body), CAST(group_concat(body, ',') AS BLOB)"


def _joined(connection: Connection, span: Span, shape: PageShape) -> list[StoredEvent] | None:
    """None if a body is in a blob or the page weighs too much: then it must be read row by row."""
    ascending = shape.order == "asc"
    filtered = span.used > 3
    row = _one_row(connection, _JOINED[ascending, filtered], span, shape)
    if row is None:
        return None
    count, edge, sequences, types, bodies = cast("tuple[int, int, str, bytes, bytes | None]", row)
    if not count:
        return []
    parts = bodies.split(b"\n") if bodies else []
    if len(parts) != count:
        return None
    step = 1 if ascending else -1
    numbers = map(int, sequences.split(",")) if filtered else range(edge, edge + step * count, step)
    return list(map(StoredEvent, numbers, types, parts))


#: By whether the order is ascending, and whether there are gaps between the sequences.
_JOINED = {
    (ascending, filtered): (
        f"count(*), {'min' if ascending else 'max'}(key) & {NUMBER_MASK}, "
        f"{f'group_concat(key & {NUMBER_MASK})' if filtered else 'NULL'}, "
        "CAST(group_concat(char(type), '') AS BLOB), CAST(group_concat(body, x'0a') AS BLOB)"
    )
    for ascending in (False, True)
    for filtered in (False, True)
}
#: The frame in place of the last `null}`; NULL, so that the page is read row by row, unless it is JSON in its row.
_SPLICED = f"""
CASE WHEN events.frame = 0 THEN events.body
     WHEN frames.form = {_JSON} THEN substr(events.body, 1, length(events.body) - 5)
          || replace(replace(frames.body, x'0a', ' '), x'0d', ' ') || x'7d'
END AS body"""


def _one_row(connection: Connection, aggregates: str, span: Span, shape: PageShape) -> Row | None:
    """None if it is too big for a page."""
    usual = connection.limit(apsw.SQLITE_LIMIT_LENGTH, shape.size)
    try:
        sql = _one_row_sql(aggregates, span.used, shape.order, raw=shape.raw)
        return connection.execute(sql, span[: span.used]).fetchone()
    except apsw.TooBigError:
        return None
    finally:
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, usual)


def _one_by_one(connection: Connection, blobs: Blobs, span: Span, shape: PageShape) -> Iterator[StoredEvent]:
    frame_columns = "frames.form, frames.body, frames.blob" if shape.raw else "NULL, NULL, NULL"
    columns = f"events.key, type, events.body, events.blob, {frame_columns}"
    rows = connection.execute(_rows_sql(columns, span.used, shape.order, raw=shape.raw), span[: span.used])
    for number, type_, inline, blob, form, frame, frame_blob in cast(
        "Iterator[tuple[int, int, bytes, bytes | None, int | None, bytes, bytes | None]]", rows
    ):
        body = inline if blob is None else blobs.get(blob)
        if form is not None:
            body = with_raw(body, FORMS[form], frame if frame_blob is None else blobs.get(frame_blob))
        yield StoredEvent(number & NUMBER_MASK, type_, body)


@cache
def _one_row_sql(aggregates: str, used: int, order: Order, *, raw: bool) -> str:
    columns = "body" if aggregates is _BODIES else f"events.key, type, {_SPLICED if raw else 'body'}"
    return f"SELECT {aggregates} FROM ({_rows_sql(columns, used, order, raw=raw)})"


def _rows_sql(columns: str, used: int, order: Order, *, raw: bool) -> str:
    """The parameters are the fields of a `Span`, as many as are used."""
    frames = f"LEFT JOIN frames ON frames.key = (events.key & ~{NUMBER_MASK}) | events.frame" if raw else ""
    clauses = (
        f"SELECT {columns} FROM events {frames} WHERE events.key > ?1 AND events.key < ?2",
        "AND (?4 >> type) & 1" if used > 3 else "",
        "AND lower(CAST(events.body AS TEXT)) GLOB ?5" if used > 4 else "",
        f"ORDER BY events.key {order}",
        "LIMIT ?3" if used > 2 else "",
    )
    return " ".join(clauses)
