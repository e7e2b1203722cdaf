"""WAL checkpoints: moves committed pages into the database file in a separate thread, concurrently with commits."""

import threading

import apsw

from everyagent.log.retries import Retries
from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.database import Database

#: Pages in the write-ahead log, not yet moved, from which on it is worth moving them (16 MiB).
WORTHWHILE_PAGES = 4096
#: Pages from which on the writer itself moves the last few, so that the write-ahead log can start anew (64 MiB).
LARGE_PAGES = 16384


class Checkpointer:
    """A thread with a separate connection, so that commits continue during a checkpoint."""

    def __init__(self, database: Database) -> None:
        self._connection = database.checkpointer()
        self._wanted = threading.Event()
        self._stopping = False
        self._moved = 0
        self._retries = Retries("moving the write-ahead log into the database")
        self.working = False
        self._thread = threading.Thread(target=self._run, name="log-checkpoint", daemon=True)
        self._thread.start()

    def worthwhile(self, pages: int) -> bool:
        """True if enough `pages` of the write-ahead log are not moved yet. Fewer than before: the log restarted."""
        return not self._retries.due and pages - (self._moved if pages >= self._moved else 0) >= WORTHWHILE_PAGES

    def want(self) -> None:
        self.working = True
        self._wanted.set()

    def move(self, connection: Connection, mode: int = apsw.SQLITE_CHECKPOINT_PASSIVE) -> int:
        """The number of pages that are in the database now.

        0 after a failure, which loses nothing: the write-ahead log stays longer, and it is tried again.
        """
        try:
            _, moved = connection.wal_checkpoint(mode=mode)
        except apsw.Error as error:
            self._retries.failed(error)
            return 0
        self._retries.succeeded()
        return moved

    def close(self) -> None:
        """Empties the write-ahead log if possible, so that the next start reads only the database."""
        self._stopping = True
        self._wanted.set()
        self._thread.join()
        self.move(self._connection, apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._connection.close()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopping:
                return
            self._moved = self.move(self._connection)
            self.working = False
