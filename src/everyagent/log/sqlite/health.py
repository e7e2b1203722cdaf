"""Finds damage and loss of the database, and repairs the full-text index, which is derived from its own texts."""

import os
from pathlib import Path
from typing import cast

import apsw

from everyagent.errors import Unavailable
from everyagent.log.sqlite.connection import Connection
from everyagent.logs import get_logger

#: Larger databases are not checked at each start, because it would take too long. `everyagent doctor` checks more.
CHECKED_BYTES = 8 << 20

logger = get_logger(__name__)


def check(connection: Connection, size: int) -> None:
    """Raises `Unavailable` if the database is damaged. A damaged full-text index is repaired."""
    if size > CHECKED_BYTES:
        return
    (verdict,) = cast("tuple[str]", connection.execute("PRAGMA quick_check(1)").fetchone())
    if verdict != "ok" and "fts5" in verdict.lower():
        repair_search(connection)
        (verdict,) = cast("tuple[str]", connection.execute("PRAGMA quick_check(1)").fetchone())
    if verdict != "ok":
        raise damaged(connection.filename, verdict)


def damaged(path: str, reason: object) -> Unavailable:
    return Unavailable(
        f"The database {path} is damaged: {reason}. Nothing was changed. Restore it from a backup, or move it away to "
        "begin with an empty one. `everyagent doctor` shows its state."
    )


class OpenedFiles:
    """The files of an open database. A deleted one can still be written, but all of it is lost with the process."""

    def __init__(self, database: Path) -> None:
        files = (str(database), f"{database}-wal")
        self._files = {file: identity for file in files if (identity := _identity(file)) is not None}

    def lost(self) -> str:
        """Why nothing that is written now would last, and what to do; empty if all is well."""
        for file, identity in self._files.items():
            if _identity(file) != identity:
                return (
                    f"The file {file} was deleted or replaced while the daemon runs, so nothing is written any more. "
                    "Stop the daemon and restore the file from a backup."
                )
        return ""


def _identity(file: str) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def repair_search(connection: Connection) -> bool:
    """Build the full-text index again from its texts, if it is damaged. If these are damaged, too, it begins empty."""
    try:
        connection.execute("INSERT INTO search (search) VALUES ('integrity-check')").fetchall()
        return False
    except apsw.Error as error:  # also `out of memory`, if a damaged size is taken for a real one
        logger.error("the search index is damaged and is built again; nothing else is affected", reason=str(error))
    try:
        with connection:
            connection.execute("INSERT INTO search (search) VALUES ('rebuild')").fetchall()
    except apsw.Error as error:
        logger.error("the search index begins empty, because its texts are damaged, too", reason=str(error))
        with connection:
            (sql,) = cast("tuple[str]", connection.execute(_SEARCH_SQL).fetchone())
            connection.execute("DROP TABLE search").fetchall()
            connection.execute(sql).fetchall()
            connection.execute("INSERT INTO search (search, rank) VALUES ('secure-delete', 1)").fetchall()
    return True


_SEARCH_SQL = "SELECT sql FROM sqlite_schema WHERE name = 'search'"
