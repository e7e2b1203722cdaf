"""Ranges of events by session, sequence, time and type; what pages and replays of every database begin with."""

from collections.abc import Callable
from typing import NamedTuple, cast

import msgspec

from everyagent.log.log import EventQuery, FrameForm, Order
from everyagent.log.projections import HIDDEN, PROJECTION
from everyagent.log.sql.connection import Connection
from everyagent.log.sql.rows import key, no_such_session

PAGE_BYTES = 32 << 20
ALL_TYPES = -1
#: The types of a projection's events that are not hidden.
SHOWN = frozenset(range(HIDDEN))


class EventRange(NamedTuple):
    """Events with `low` < key < `high`, at most `limit` (0: all of them).

    Their types' bits are set in `types`. `pattern` matches their bodies with ASCII letters in lower case; empty for
    any. Its syntax is the database's own.
    """

    low: int
    high: int
    limit: int = 0
    types: int = ALL_TYPES
    pattern: str = ""

    @property
    def used(self) -> int:
        """The number of leading fields that a statement needs as bindings."""
        if self.pattern:
            return 5
        return 4 if self.types != ALL_TYPES else 3 if self.limit else 2


class PageShape(NamedTuple):
    """`size` is the most bytes of a page, but for its first event. `raw` puts the frames into the events."""

    size: int = PAGE_BYTES
    order: Order = "asc"
    raw: bool = False


def session_head(connection: Connection, session: int) -> int:
    """The last sequence of a session, or of a projection."""
    if session & PROJECTION:
        statement = "SELECT head FROM views WHERE session = ?"
    else:
        statement = "SELECT last_sequence FROM sessions WHERE number = ?"
    row = connection.execute(statement, (session & ~PROJECTION,)).fetchone()
    if row is None:
        raise no_such_session(session & ~PROJECTION)
    return cast("int", row[0])


def head_by_id(connection: Connection, session_id: str, *, projection: bool) -> tuple[int, int, int]:
    """The number, the head, and how many events are hidden."""
    row = connection.execute(_VIEW_HEAD if projection else _HEAD, (session_id,)).fetchone()
    if row is None:
        raise no_such_session(session_id)
    return cast("tuple[int, int, int]", row)


_HEAD = "SELECT number, last_sequence, 0 FROM sessions WHERE session_id = ?"
_VIEW_HEAD = (
    f"SELECT number | {PROJECTION}, head, hidden FROM sessions JOIN views ON views.session = sessions.number "
    "WHERE session_id = ?"
)


def span_of(connection: Connection, query: EventQuery, pattern: Callable[[str], str]) -> EventRange:
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
    text = pattern(msgspec.json.encode(query.text)[1:-1].decode()) if query.text else ""
    return EventRange(key(query.session, first) - 1, key(query.session, last) + 1, query.limit + 1, types, text)


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


def with_raw(body: bytes, form: FrameForm, frame: bytes) -> bytes:
    """An event's stored bytes with its frame in place of `"raw":null`, still on one line."""
    if form == "json":
        raw = frame.replace(b"\n", b" ").replace(b"\r", b" ")
    else:
        raw = msgspec.json.encode(frame.decode("utf-8", "backslashreplace"))
    return body[: -len(b"null}")] + raw + b"}"
