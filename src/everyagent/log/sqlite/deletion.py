"""What a deleted session leaves behind, removed in slices so that no commit waits long for it."""

from typing import cast

from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.rows import key

_SLICE_ROWS = 2000
_STATEMENTS = tuple(
    f"DELETE FROM {table} WHERE {name} IN (SELECT {name} FROM {table} WHERE {name} > ? AND {name} < ? LIMIT ?)"
    for table, name in (("search", "rowid"), ("events", "key"), ("frames", "key"))
)


def remove_slice(connection: Connection) -> bool:
    """In a transaction of its own. False when there is nothing left to remove."""
    row = connection.execute("SELECT min(session) FROM debris").fetchone()
    session = cast("int | None", row[0]) if row else None
    if session is None:
        return False
    with connection:
        for statement in _STATEMENTS:
            connection.execute(statement, (key(session, 0), key(session + 1, 0), _SLICE_ROWS))
            if connection.changes() == _SLICE_ROWS:
                return True
        connection.execute("DELETE FROM debris WHERE session = ?", (session,))
    return True
