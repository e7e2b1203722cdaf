"""Builds pages of events from their rows, one by one, and finds damaged ones. Run by every database."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, cast

from everyagent.errors import LogDamaged
from everyagent.log.log import EventPage, StoredEvent
from everyagent.log.projections import PROJECTION
from everyagent.log.sql.checksums import damaged_event, damaged_frame, intact
from everyagent.log.sql.connection import Connection, Row
from everyagent.log.sql.rows import FORMS, NUMBER_BITS, NUMBER_MASK
from everyagent.log.sql.spans import EventRange, PageShape, with_raw

_EVENT: Final = "events.key, type, events.body, events.blob, events.crc, events.frame"


_DIGEST_BYTES: Final = 32


def columns(*, raw: bool) -> str:
    """The columns of `EventRow`."""
    return f"{_EVENT}, {'frames.form, frames.body, frames.blob' if raw else 'NULL, NULL, NULL'}"


class EventRow(NamedTuple):
    """An event with its frame. `body` and `native` are None if they are in a blob, `form` if there is no frame."""

    key: int
    type: int
    body: bytes | None
    blob: bytes | None
    crc: int | None
    frame: int
    form: int | None
    native: bytes | None
    native_blob: bytes | None


def page_of(
    connection: Connection, rows: Iterable[Row], blob: Callable[[bytes], bytes], span: EventRange, shape: PageShape
) -> EventPage:
    """At most `span.limit - 1` events: the last row only shows that there are more.

    A page ends before a damaged event. A page that would begin with one raises `LogDamaged`.
    """
    wanted = span.limit - 1
    events: list[StoredEvent] = []
    size = 0
    try:
        for event in _checked(connection, rows, blob, span, shape):
            size += len(event.body)
            if events and (size > shape.size or len(events) == wanted):
                return EventPage(events, True)
            events.append(event)
    except LogDamaged:
        if not events:
            raise
        return EventPage(events, True)
    return EventPage(events, False)


def _checked(
    connection: Connection, rows: Iterable[Row], blob: Callable[[bytes], bytes], span: EventRange, shape: PageShape
) -> Iterator[StoredEvent]:
    step = 1 if shape.order == "asc" else -1
    due = span.low + 1 if step == 1 else span.high - 1
    gapless = span.used <= 3 and not span.low >> NUMBER_BITS & PROJECTION  # a projection may be rewritten meanwhile
    for values in rows:
        row = EventRow(*cast("tuple[int, int, None, None, None, int, None, None, None]", values))
        if gapless and row.key != due:
            raise damaged_event(connection, due)
        due += step
        yield _event(connection, row, blob)
    if gapless and span.low < due < span.high:
        raise damaged_event(connection, due)


def _event(connection: Connection, row: EventRow, blob: Callable[[bytes], bytes]) -> StoredEvent:
    body = whole(row.body, row.blob, row.crc, blob)
    if body is None:
        raise damaged_event(connection, row.key)
    if row.form is not None:
        native = whole(row.native, row.native_blob, None, blob)
        if native is None:
            raise damaged_frame(connection, row.key >> NUMBER_BITS, row.frame, row.key & NUMBER_MASK)
        body = with_raw(body, FORMS[row.form], native)
    return StoredEvent(row.key & NUMBER_MASK, row.type, body)


def whole(inline: bytes | None, digest: bytes | None, crc: int | None, blob: Callable[[bytes], bytes]) -> bytes | None:
    """A body from its row or its blob; None if it is damaged or lost. A damaged row may have values of any type."""
    if digest is not None and not _is_digest(digest):
        return None
    try:
        body = inline if digest is None else blob(digest)
    except FileNotFoundError:
        return None
    return body if isinstance(body, bytes) and intact(body, crc, digest) else None


def _is_digest(value: object) -> bool:
    return isinstance(value, bytes) and len(value) == _DIGEST_BYTES
