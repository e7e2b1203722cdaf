"""The tables of a log that are copied. Their columns have the same names in every database."""

from typing import Final, NamedTuple

from everyagent.log.projections import PROJECTION
from everyagent.log.sql.rows import SESSION_COLUMNS, key

END_OF_KEYS: Final = (1 << 63) - 1


class Table(NamedTuple):
    """The first column is a number, and the primary key; of a table in `REPLACED`, the first `keys` columns are it."""

    name: str
    columns: tuple[str, ...]
    keys: int = 1


class RowRange(NamedTuple):
    """The rows of a table whose keys are above `after`, up to `until`."""

    table: Table
    after: int
    until: int


_EVENTS = Table("events", ("key", "type", "frame", "at", "blob", "body", "crc"))
_FRAMES = Table("frames", ("key", "direction", "form", "at", "first", "last", "blob", "body"))
_TEXTS = Table("search", ("key", "text"))

SESSIONS = Table("sessions", SESSION_COLUMNS)
VIEWS = Table(
    "views",
    (
        *("session", "agent_id", "agent_version", "environment_id", "status", "created_at", "updated_at"),
        *("archived_at", "head", "hidden", "state", "document"),
    ),
)
RECORDS = Table(
    "records",
    (
        *("number", "kind", "id", "parent", "key", "version", "created_at", "updated_at", "archived_at"),
        *("body", "secret", "workspace"),
    ),
)
#: Rows are added to these all the time, and nearly never changed.
GROWING: Final = (
    Table("commits", ("number", "session", "first", "last")),
    Table("audit", ("number", "entry", "digest")),
)
#: Rows of these change.
CHANGING: Final = (
    SESSIONS,
    VIEWS,
    Table(
        "asks",
        (
            *("number", "session", "ask_id", "kind", "sequence", "asked_at", "request", "answer"),
            *("closed_sequence", "closed_at"),
        ),
    ),
    Table("inputs", ("number", "session", "item_id", "body")),
    RECORDS,
)
#: These have no number: they are replaced as a whole.
REPLACED: Final = (
    Table("receipts", ("key", "at", "fingerprint", "status", "headers", "body")),
    Table("blobs", ("session", "digest"), keys=2),
    Table("spending", ("key_id", "usd")),
    Table(
        "usage",
        (
            *("session", "day", "model", "key_id", "agent", "workspace", "turns", "input_tokens", "output_tokens"),
            *("cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost", "waited"),
        ),
        keys=4,
    ),
    Table("audit_head", ("one", "number", "digest")),
)
#: All of them, with those of which a session has a span.
ALL: Final = (_EVENTS, _FRAMES, _TEXTS, *GROWING, *CHANGING, *REPLACED)
#: Tables that give out numbers, none of them twice.
NUMBERED: Final = ("sessions", "asks", "inputs", "records")


def spans_of(session: int) -> list[RowRange]:
    """Everything of a session that is written once."""
    return [
        RowRange(table, key(number, 0), key(number + 1, 0) - 1)
        for table, number in (
            (_EVENTS, session),
            (_EVENTS, session | PROJECTION),
            (_FRAMES, session),
            (_TEXTS, session),
        )
    ]
