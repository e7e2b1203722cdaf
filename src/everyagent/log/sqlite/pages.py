"""Pages of events. A page is one statement and one row, its bodies joined by newlines (no body holds one):
a thread that fetched row by row would wait for the interpreter at every row while the event loop is busy."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, cast

import apsw
import msgspec

from everyagent.log.blobs import Blobs
from everyagent.log.log import EventPage, EventQuery, FrameForm, JoinedPage, Order, StoredEvent
from everyagent.log.projections import HIDDEN, PROJECTION
from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.rows import FORMS, NUMBER_MASK, key, no_such_session

PAGE_BYTES = 32 << 20
ALL_TYPES = -1

_JSON = FORMS.index("json")


class Span(NamedTuple):
    """Events with `low` < key < `high` whose type's bit is set in `types`; one more than wanted tells of more.

    `text` is a part of their bodies, in small letters; empty for any.
    """

    low: int
    high: int
    types: int
    limit: int
    text: str = ""

    @property
    def bindings(self) -> tuple[int | str, ...]:
        return self if self.text else self[:4]


class View(NamedTuple):
    """How the events of a span are wanted. `size` bounds a page's bytes, but for its first event."""

    size: int = PAGE_BYTES
    order: Order = "asc"
    raw: bool = False


def page(connection: Connection, blobs: Blobs, query: EventQuery) -> EventPage:
    return read(connection, blobs, _span(connection, query), View(order=query.order, raw=query.raw))


def read(connection: Connection, blobs: Blobs, span: Span, view: View) -> EventPage:
    joined = _joined(connection, span, view)
    wanted = span.limit - 1
    if joined is not None:
        return EventPage(joined[:wanted], len(joined) > wanted)
    events: list[StoredEvent] = []
    size = 0
    for event in _single(connection, blobs, span, view):
        size += len(event.body)
        if events and (size > view.size or len(events) == wanted):
            return EventPage(events, True)
        events.append(event)
    return EventPage(events, False)


def joined_page(connection: Connection, blobs: Blobs, session_id: str, query: EventQuery, *, view: bool) -> JoinedPage:
    row = connection.execute(_VIEW_HEAD if view else _HEAD, (session_id,)).fetchone()
    if row is None:
        raise no_such_session(session_id)
    session, head, hidden = cast("tuple[int, int, int]", row)
    query = msgspec.structs.replace(query, session=session, types=query.types or (_SHOWN if hidden else frozenset()))
    if query == EventQuery(session=session, after=query.after, limit=query.limit):
        whole = _whole(connection, query, head)
        if whole is not None:
            return whole
    events, more = page(connection, blobs, query)
    last = events[-1].sequence if events else 0
    return JoinedPage(b",".join([event.body for event in events]), more, head, last)


_SHOWN = frozenset(range(HIDDEN))
_HEAD = "SELECT number, last_sequence, 0 FROM sessions WHERE session_id = ?"
_VIEW_HEAD = (
    f"SELECT number | {PROJECTION}, head, hidden FROM sessions JOIN views ON views.session = sessions.number "
    "WHERE session_id = ?"
)


def _whole(connection: Connection, query: EventQuery, head: int) -> JoinedPage | None:
    """Every event after a sequence: sequences have no gap, so their number is known, and SQLite can join them."""
    last = min(head, query.after + query.limit)
    if not 0 <= query.after < last:
        return JoinedPage(b"", False, head, 0)
    usual = connection.limit(apsw.SQLITE_LIMIT_LENGTH, PAGE_BYTES)
    try:
        row = connection.execute(_WHOLE, (key(query.session, query.after), key(query.session, last))).fetchone()
    except apsw.TooBigError:
        return None
    finally:
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, usual)
    count, bodies = cast("tuple[int, bytes]", row)
    return JoinedPage(bodies, last < head, head, last) if count == last - query.after else None


_WHOLE = (
    "SELECT count(body), CAST(group_concat(body, ',') AS BLOB) "
    "FROM (SELECT body FROM events WHERE key > ?1 AND key <= ?2 ORDER BY key)"
)


_HEAD_OF_VIEW = "SELECT head FROM views WHERE session = ?"


def session_head(connection: Connection, session: int) -> int:
    statement = _HEAD_OF_VIEW if session & PROJECTION else "SELECT last_sequence FROM sessions WHERE number = ?"
    row = connection.execute(statement, (session & ~PROJECTION,)).fetchone()
    if row is None:
        raise no_such_session(session)
    return cast("int", row[0])


def _span(connection: Connection, query: EventQuery) -> Span:
    """Events are in the order of their times, so a range of times is a range of sequences."""
    head = session_head(connection, query.session)
    first, last = 1, head
    if query.order == "asc":
        first = max(first, query.after + 1)
    elif query.after:
        last = min(last, query.after - 1)
    if query.since is not None:
        first = max(first, _first_at(connection, query.session, query.since, head))
    if query.until is not None:
        last = min(last, _first_at(connection, query.session, query.until, head) - 1)
    types = sum(1 << number for number in query.types) if query.types else ALL_TYPES
    text = msgspec.json.encode(query.text.lower())[1:-1].decode()
    return Span(key(query.session, first) - 1, key(query.session, last) + 1, types, query.limit + 1, text)


def _first_at(connection: Connection, session: int, at: int, head: int) -> int:
    """The first sequence at or after a time; past the head if there is none."""
    low, high = 1, head + 1
    while low < high:
        middle = (low + high) // 2
        row = connection.execute("SELECT at FROM events WHERE key = ?", (key(session, middle),)).fetchone()
        if row is not None and cast("int", row[0]) < at:
            low = middle + 1
        else:
            high = middle
    return low


def _joined(connection: Connection, span: Span, view: View) -> list[StoredEvent] | None:
    """None if a body is in a blob or the page weighs too much: then it must be read row by row."""
    filtered = span.types != ALL_TYPES or span.text != ""
    usual = connection.limit(apsw.SQLITE_LIMIT_LENGTH, view.size)
    try:
        sql = _joined_sql(view.order, filtered=filtered, raw=view.raw, text=span.text != "")
        row = connection.execute(sql, span.bindings).fetchone()
    except apsw.TooBigError:
        return None
    finally:
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, usual)
    count, edge, sequences, types, bodies = cast("tuple[int, int, str, bytes, bytes | None]", row)
    if not count:
        return []
    parts = bodies.split(b"\n") if bodies else []
    if len(parts) != count:
        return None
    step = 1 if view.order == "asc" else -1
    numbers = map(int, sequences.split(",")) if filtered else range(edge, edge + step * count, step)
    return list(map(StoredEvent, numbers, types, parts))


@cache
def _joined_sql(order: str, *, filtered: bool, raw: bool, text: bool) -> str:
    edge = "min" if order == "asc" else "max"
    sequences = f"group_concat(key & {NUMBER_MASK})" if filtered else "NULL"
    return (
        f"SELECT count(*), {edge}(key) & {NUMBER_MASK}, {sequences}, CAST(group_concat(char(type), '') AS BLOB), "
        f"CAST(group_concat(body, x'0a') AS BLOB) "
        f"FROM ({_rows_sql(order, _SPLICED if raw else 'body', raw=raw, text=text)})"
    )


#: The frame in place of the last `null}`; NULL, so that the page is read row by row, unless it is JSON in its row.
_SPLICED = f"""
CASE WHEN events.frame = 0 THEN events.body
     WHEN frames.form = {_JSON} THEN substr(events.body, 1, length(events.body) - 5)
          || replace(replace(frames.body, x'0a', ' '), x'0d', ' ') || x'7d'
END AS body"""


def _rows_sql(order: str, columns: str, *, raw: bool, text: bool) -> str:
    frames = f"LEFT JOIN frames ON frames.key = (events.key & ~{NUMBER_MASK}) | events.frame" if raw else ""
    return (
        f"SELECT events.key, type, {columns} FROM events {frames} "
        "WHERE events.key > ?1 AND events.key < ?2 AND (?3 >> type) & 1 "
        f"{'AND instr(lower(CAST(events.body AS TEXT)), ?5) ' if text else ''}"
        f"ORDER BY events.key {order} LIMIT ?4"
    )


def _single(connection: Connection, blobs: Blobs, span: Span, view: View) -> Iterator[StoredEvent]:
    if view.raw:
        yield from _single_raw(connection, blobs, span, view)
        return
    sql = _rows_sql(view.order, "body, blob", raw=False, text=span.text != "")
    rows = connection.execute(sql, span.bindings)
    for number, type_, body, blob in cast("Iterator[tuple[int, int, bytes, bytes | None]]", rows):
        yield StoredEvent(number & NUMBER_MASK, type_, body if blob is None else blobs.get(blob))


def _single_raw(connection: Connection, blobs: Blobs, span: Span, view: View) -> Iterator[StoredEvent]:
    columns = "events.body, events.blob, frames.form, frames.body, frames.blob"
    rows = connection.execute(_rows_sql(view.order, columns, raw=True, text=span.text != ""), span.bindings)
    for number, type_, body, blob, form, frame, frame_blob in cast(
        "Iterator[tuple[int, int, bytes, bytes | None, int | None, bytes, bytes | None]]", rows
    ):
        stored = body if blob is None else blobs.get(blob)
        if form is not None:
            stored = with_raw(stored, FORMS[form], frame if frame_blob is None else blobs.get(frame_blob))
        yield StoredEvent(number & NUMBER_MASK, type_, stored)


def with_raw(body: bytes, form: FrameForm, frame: bytes) -> bytes:
    """An event's stored bytes with its frame in place of `"raw":null`, still on one line."""
    if form == "json":
        raw = frame.replace(b"\n", b" ").replace(b"\r", b" ")
    else:
        raw = msgspec.json.encode(frame.decode("utf-8", "backslashreplace"))
    return body[: -len(b"null}")] + raw + b"}"
