"""Partitions of events, frames and search texts by ranges of sessions: made ahead of need, dropped when empty."""

from typing import Final, LiteralString, NamedTuple, cast

from everyagent.log.postgres.connection import Connection
from everyagent.log.projections import PROJECTION
from everyagent.log.sql.rows import key

#: Sessions whose rows share a partition.
SESSIONS: Final = 8192


class _Kind(NamedTuple):
    """Partitions of `table`, named `prefix` and a number. `bit` is set in the numbers of their sessions."""

    table: str
    prefix: str
    bit: int = 0


_KINDS = (
    _Kind("events", "events_s"),
    _Kind("events", "events_p", PROJECTION),
    _Kind("frames", "frames_s"),
    _Kind("search", "search_s"),
)


class Partitions:
    """Used by the writer. `made` may be ahead of the database after a transaction failed: then call `forget`."""

    def __init__(self) -> None:
        self._made = -1

    def forget(self) -> None:
        self._made = -1

    def cover(self, connection: Connection, session: int) -> None:
        """Makes the partition of a session, and the next one, if they are not there."""
        wanted = (session & ~PROJECTION) // SESSIONS + 1
        if wanted <= self._made:
            return
        # Does not block reading and writing, but other nodes that do the same.
        connection.execute("LOCK TABLE events IN SHARE UPDATE EXCLUSIVE MODE")
        for number in (wanted - 1, wanted):
            for kind in _KINDS:
                _make(connection, kind, number)
        self._made = wanted


def _make(connection: Connection, kind: _Kind, number: int) -> None:
    name = f"{kind.prefix}{number}"
    if connection.execute("SELECT to_regclass(?)", (name,)).fetchone() != (None,):
        return
    low, high = key(kind.bit | number * SESSIONS, 0), key(kind.bit | (number + 1) * SESSIONS, 0)
    _run(connection, f"CREATE TABLE {name} (LIKE {kind.table} INCLUDING ALL)")
    _run(connection, f"ALTER TABLE {kind.table} ATTACH PARTITION {name} FOR VALUES FROM ({low}) TO ({high})")


def drop_empty(connection: Connection, session: int) -> bool:
    """Drops the partitions of a deleted session if no session of its range is left, nor can come."""
    number = session // SESSIONS
    low, high = number * SESSIONS, (number + 1) * SESSIONS
    row = connection.execute(
        "SELECT NOT EXISTS (SELECT 1 FROM sessions WHERE number >= ?1 AND number < ?2) "
        "AND EXISTS (SELECT 1 FROM sessions WHERE number >= ?2)",
        (low, high),
    ).fetchone()
    if row is None or not row[0]:
        return False
    connection.execute("SET LOCAL lock_timeout = '200ms'")
    for kind in _KINDS:
        _run(connection, f"DROP TABLE IF EXISTS {kind.prefix}{number}")
    connection.execute(
        "DELETE FROM debris WHERE (session & ~?1::bigint) >= ?2 AND (session & ~?1::bigint) < ?3",
        (
            PROJECTION,
            low,
            high,
        ),
    )
    return True


def _run(connection: Connection, statement: str) -> None:
    connection.raw.execute(cast("LiteralString", statement))
