"""Moves what was committed from the write-ahead log into the database file, beside the writer."""

import threading

import apsw

from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.database import Database

#: Pages in the write-ahead log, not yet moved, from which on it is worth moving them (16 MiB).
WORTHWHILE_PAGES = 4096
#: Pages from which on the writer itself moves the last few, so that the write-ahead log can start anew (64 MiB).
LARGE_PAGES = 16384


class Checkpointer:
    """A thread with a connection of its own: commits go on while it works."""

    def __init__(self, database: Database) -> None:
        self._connection = database.checkpointer()
        self._wanted = threading.Event()
        self._stopping = False
        self._moved = 0
        self.working = False
        self._thread = threading.Thread(target=self._run, name="log-checkpoint", daemon=True)
        self._thread.start()

    def worthwhile(self, pages: int) -> bool:
        """Of `pages` in the write-ahead log, enough have not been moved yet. Fewer than before: it began anew."""
        return pages - (self._moved if pages >= self._moved else 0) >= WORTHWHILE_PAGES

    def want(self) -> None:
        self.working = True
        self._wanted.set()

    def close(self) -> None:
        """Leaves an empty write-ahead log behind, if it can: the next start reads no more than the database."""
        self._stopping = True
        self._wanted.set()
        self._thread.join()
        checkpoint(self._connection, apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._connection.close()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopping:
                return
            self._moved = checkpoint(self._connection)
            self.working = False


def checkpoint(connection: Connection, mode: int = apsw.SQLITE_CHECKPOINT_PASSIVE) -> int:
    """Pages of the write-ahead log that are in the database now.

    0 if it could not be done; nothing is lost then, the write-ahead log only stays longer.
    """
    try:
        _, moved = connection.wal_checkpoint(mode=mode)
    except apsw.Error:
        return 0
    return moved
