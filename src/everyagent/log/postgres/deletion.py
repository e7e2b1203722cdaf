"""Removes the rows of deleted sessions in slices, so that no commit waits long for it. Run by the writer thread."""

from typing import cast

import psycopg

from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.partitions import drop_empty
from everyagent.log.projections import PROJECTION
from everyagent.log.sql.rows import key

_SLICE_ROWS = 2000
_SLICE_COMMITS = 20_000
_STATEMENTS = tuple(
    f"DELETE FROM {table} WHERE key > ?1 AND key < ?2 AND key <= (SELECT max(key) FROM "
    f"(SELECT key FROM {table} WHERE key > ?1 AND key < ?2 ORDER BY key LIMIT ?3) AS slice) RETURNING 1"
    for table in ("search", "events", "frames")
)


class Deletion:
    """A session stays in `debris` until all its rows are gone: after a restart, it is removed from the beginning."""

    def __init__(self) -> None:
        self._commit = 0

    def remove_slice(self, connection: Connection) -> bool:
        """Removes some rows in a transaction of their own. False if no deleted session has any rows left."""
        row = connection.execute("SELECT session FROM debris ORDER BY session LIMIT 1").fetchone()
        if row is None:
            return False
        session = cast("int", row[0])
        if self._drop(connection, session & ~PROJECTION):
            return True
        with connection:
            if _clear(connection, session) and self._clear_commits(connection):
                connection.execute("DELETE FROM debris WHERE session = ?", (session,))
                self._commit = 0
        return True

    def _drop(self, connection: Connection, session: int) -> bool:
        """A partition that readers hold is left for later; its rows are removed meanwhile."""
        try:
            with connection:
                return drop_empty(connection, session)
        except psycopg.errors.LockNotAvailable:
            return False

    def _clear_commits(self, connection: Connection) -> bool:
        """Commits have no index by session: one pass over them, in slices. True at its end."""
        last = cast("int", (connection.execute("SELECT last_commit FROM feed").fetchone() or (0,))[0])
        until = self._commit + _SLICE_COMMITS
        connection.execute(
            "DELETE FROM commits WHERE number > ?1 AND number <= ?2 "
            "AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.number = commits.session)",
            (self._commit, until),
        )
        self._commit = until
        return until >= last


def _clear(connection: Connection, session: int) -> bool:
    """True if the session has no events, frames and search texts any more."""
    for statement in _STATEMENTS:
        rows = connection.execute(statement, (key(session, 0), key(session + 1, 0), _SLICE_ROWS)).fetchall()
        if len(rows) == _SLICE_ROWS:
            return False
    return True
