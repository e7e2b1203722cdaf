"""Reads events: pages, replays and joined pages, all by `read_page` and one query builder.

A page is one statement and one row, its bodies joined by newlines (no body has one): a thread that fetched row by
row would wait for the interpreter at every row while the event loop is busy.
"""

from collections.abc import Generator
from contextlib import closing
from functools import cache
from typing import cast

import apsw
import msgspec

from everyagent.log.blobs import Blobs
from everyagent.log.letter_case import glob
from everyagent.log.log import EventPage, EventQuery, JoinedPage, Order, StoredEvent
from everyagent.log.sql.checked_pages import columns, page_of
from everyagent.log.sql.checksums import RecentChecks, all_intact, damaged_event
from everyagent.log.sql.rows import FORMS, NUMBER_MASK, key
from everyagent.log.sql.spans import SHOWN, EventRange, PageShape, head_by_id, span_of, with_raw
from everyagent.log.sqlite.connection import Connection, Row

_JSON = FORMS.index("json")


def page(connection: Connection, blobs: Blobs, query: EventQuery) -> EventPage:
    return read_page(connection, blobs, span(connection, query), PageShape(order=query.order, raw=query.raw))


def span(connection: Connection, query: EventQuery) -> EventRange:
    return span_of(connection, query, lambda text: f"*{glob(text)}*")


def read_page(connection: Connection, blobs: Blobs, span: EventRange, shape: PageShape) -> EventPage:
    """At most `span.limit - 1` events: the last row only shows that there are more."""
    joined = _joined(connection, span, shape)
    if joined is not None:
        wanted = span.limit - 1
        return EventPage(joined[:wanted], len(joined) > wanted)
    with closing(_one_by_one(connection, span, shape)) as rows:
        return page_of(connection, rows, blobs.get, span, shape)


def joined_page(
    connection: Connection,
    blobs: Blobs,
    checks: RecentChecks,
    session_id: str,
    query: EventQuery,
    *,
    projection: bool,
) -> JoinedPage:
    session, head, hidden = head_by_id(connection, session_id, projection=projection)
    query = msgspec.structs.replace(query, session=session, types=query.types or (SHOWN if hidden else frozenset()))
    if query == EventQuery(session=session, after=query.after, limit=query.limit):
        unfiltered = _unfiltered(connection, checks, query, head)
        if unfiltered is not None:
            return unfiltered
    events, more = page(connection, blobs, query)
    last = events[-1].sequence if events else 0
    return JoinedPage(b",".join([event.body for event in events]), more, head, last)


def _unfiltered(connection: Connection, checks: RecentChecks, query: EventQuery, head: int) -> JoinedPage | None:
    """Every event after a sequence: sequences have no gap, so their number is known, and SQLite can join them."""
    last = min(head, query.after + query.limit)
    count = last - query.after
    if query.after < 0 or count <= 0:
        return JoinedPage(b"", False, head, 0)
    span = EventRange(key(query.session, query.after), key(query.session, last) + 1)
    known = span in checks
    row = _one_row(connection, _BODIES if known else _CHECKED_BODIES, span, PageShape())
    if row is None or row[0] != count:
        return None
    bodies = cast("bytes", row[1])
    if not known:
        if not all_intact(bodies.split(b"\n"), *cast("tuple[int, int | None]", row[2:])):
            return None
        checks.add(span)
        bodies = bodies.replace(b"\n", b",")
    return JoinedPage(bodies, last < head, head, last)


#: Aggregates over the `body` and `crc` of a span.
_BODIES = "count(body), CAST(group_concat(body, ',') AS BLOB)"
_CHECKED_BODIES = "count(body), CAST(group_concat(body, x'0a') AS BLOB), count(crc), sum(crc)"


def _joined(connection: Connection, span: EventRange, shape: PageShape) -> list[StoredEvent] | None:
    """None if a body is in a blob or damaged, or the page weighs too much: then it must be read row by row."""
    ascending = shape.order == "asc"
    filtered = span.used > 3
    row = _one_row(connection, _JOINED[ascending, filtered], span, shape)
    if row is None:
        return None
    count, edge, width, sequences, types, _, bodies, checked, total, *frames = cast(
        "tuple[int, int, int, str, bytes, int, bytes | None, int, int | None]", row
    )
    if not filtered and count != min(span.high - span.low - 1, span.limit or count):
        return None
    if not count:
        return []
    parts = bodies.split(b"\n") if bodies else []
    if len(parts) != count or not all_intact(parts, checked, total) or not (filtered or width == count):
        return None
    if frames and (parts := _with_frames(parts, *frames)) is None:
        return None
    step = 1 if ascending else -1
    numbers = map(int, sequences.split(",")) if filtered else range(edge, edge + step * count, step)
    return list(map(StoredEvent, numbers, types, parts))


def _with_frames(bodies: list[bytes], joined: bytes | None) -> list[bytes] | None:
    frames = [] if joined is None else joined.split(b"\n")
    if len(frames) != len(bodies):
        return None
    return [with_raw(body, "json", frame) if frame else body for body, frame in zip(bodies, frames, strict=True)]


#: By whether the order is ascending, and whether there are gaps between the sequences.
_JOINED = {
    (ascending, filtered): (
        f"count(*), {'min' if ascending else 'max'}(key) & {NUMBER_MASK}, max(key) - min(key) + 1, "
        f"{f'group_concat(key & {NUMBER_MASK})' if filtered else 'NULL'}, "
        f"CAST(group_concat(char(type), '') AS BLOB), {_CHECKED_BODIES}"
    )
    for ascending in (False, True)
    for filtered in (False, True)
}
#: The frame on one line, empty if there is none. NULL, so that the page is read row by row, unless it is inline JSON.
_FRAME = f"""
CASE WHEN events.frame = 0 THEN x''
     WHEN frames.form = {_JSON} THEN replace(replace(frames.body, x'0a', ' '), x'0d', ' ')
END AS frame"""
_FRAMES = "CAST(group_concat(frame, x'0a') AS BLOB)"


def _one_row(connection: Connection, aggregates: str, span: EventRange, shape: PageShape) -> Row | None:
    """None if it is too big for a page, or the database is damaged there."""
    usual = connection.limit(apsw.SQLITE_LIMIT_LENGTH, shape.size)
    try:
        sql = _one_row_sql(aggregates, span.used, shape.order, raw=shape.raw)
        return connection.execute(sql, span[: span.used]).fetchone()
    except (apsw.TooBigError, apsw.CorruptError):
        return None
    finally:
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, usual)


def _one_by_one(connection: Connection, span: EventRange, shape: PageShape) -> Generator[Row]:
    """To be closed: while it is open, the connection reads the same state of the database."""
    step = 1 if shape.order == "asc" else -1
    last = span.low if step == 1 else span.high
    statement = _rows_sql(columns(raw=shape.raw), span.used, shape.order, raw=shape.raw)
    try:
        for row in connection.execute(statement, span[: span.used]):
            yield row
            last = cast("int", row[0])
    except apsw.CorruptError as error:
        raise damaged_event(connection, last + step) from error


@cache
def _one_row_sql(aggregates: str, used: int, order: Order, *, raw: bool) -> str:
    selected = "events.key, type, events.body, events.crc" if aggregates in _JOINED.values() else "body, crc"
    if raw:
        selected, aggregates = f"{selected}, {_FRAME}", f"{aggregates}, {_FRAMES}"
    return f"SELECT {aggregates} FROM ({_rows_sql(selected, used, order, raw=raw)})"


def _rows_sql(columns: str, used: int, order: Order, *, raw: bool) -> str:
    """The parameters are the fields of a `EventRange`, as many as are used."""
    frames = f"LEFT JOIN frames ON frames.key = (events.key & ~{NUMBER_MASK}) | events.frame" if raw else ""
    clauses = (
        f"SELECT {columns} FROM events {frames} WHERE events.key > ?1 AND events.key < ?2",
        "AND (?4 >> type) & 1" if used > 3 else "",
        "AND lower(CAST(events.body AS TEXT)) GLOB ?5" if used > 4 else "",
        f"ORDER BY events.key {order}",
        "LIMIT ?3" if used > 2 else "",
    )
    return " ".join(clauses)
