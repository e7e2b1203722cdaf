"""Removes the rows of deleted sessions in slices, so that no commit waits long for it. Run by the writer thread."""

from typing import cast

from everyagent.log.sql.rows import key
from everyagent.log.sqlite.connection import Connection

#: Deleted sessions that share one pass over the commits, which has no index by session.
_BATCH_SESSIONS = 1000
_SLICE_ROWS = 2000
#: Removing a text's words from the pages of the search index takes half a millisecond.
_SLICE_TEXTS = 40
_SLICE_COMMITS = 20_000
_STATEMENTS = tuple(
    (f"DELETE FROM {table} WHERE {name} IN (SELECT {name} FROM {table} WHERE {name} > ? AND {name} < ? LIMIT ?)", rows)
    for table, name, rows in (
        ("search", "rowid", _SLICE_TEXTS),
        ("events", "key", _SLICE_ROWS),
        ("frames", "key", _SLICE_ROWS),
    )
)


class Deletion:
    """A session stays in `debris` until all its rows are gone: after a restart, it is removed from the beginning."""

    def __init__(self) -> None:
        self._batch: list[int] = []
        self._cleared = 0
        self._commit = 0

    def remove_slice(self, connection: Connection) -> bool:
        """Removes some rows in a transaction of their own. False if no deleted session has any rows left."""
        if not self._batch:
            rows = connection.execute("SELECT session FROM debris LIMIT ?", (_BATCH_SESSIONS,)).fetchall()
            self._batch, self._cleared, self._commit = [cast("int", session) for (session,) in rows], 0, 0
            return bool(rows)
        with connection:
            if self._cleared < len(self._batch):
                cleared, commit, over = self._cleared + _clear(connection, self._batch[self._cleared]), 0, False
            else:
                cleared, commit = self._cleared, self._commit + _SLICE_COMMITS
                over = _clear_commits(connection, self._commit, commit)
                if over:
                    for session in self._batch:
                        connection.execute("DELETE FROM debris WHERE session = ?", (session,))
        self._cleared, self._commit = cleared, commit
        if over:
            self._batch = []
        return True


def _clear(connection: Connection, session: int) -> bool:
    """True if the session has no events, frames and search texts any more."""
    for statement, rows in _STATEMENTS:
        connection.execute(statement, (key(session, 0), key(session + 1, 0), rows))
        if connection.changes() == rows:
            return False
    return True


def _clear_commits(connection: Connection, after: int, until: int) -> bool:
    """True at the end of the commits. The last one stays, so that its number is not used again after a restart."""
    (last,) = cast("tuple[int]", connection.execute("SELECT coalesce(max(number), 0) FROM commits").fetchone())
    connection.execute(
        "DELETE FROM commits WHERE number > ?1 AND number <= ?2 AND number < ?3 "
        "AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.number = commits.session)",
        (after, until, last),
    )
    return until >= last
