"""The runner's own SQLite file with everything that its agents sent and the daemon has not stored yet."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, cast

import apsw

from everyagent.log.sqlite.connection import Connection, Value
from everyagent.private_files import private_file

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS conversations (
        session_id TEXT NOT NULL, epoch INTEGER NOT NULL, last INTEGER NOT NULL, command INTEGER NOT NULL,
        ended INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (session_id, epoch)
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS entries (
        session_id TEXT NOT NULL, epoch INTEGER NOT NULL, sequence INTEGER NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (session_id, epoch, sequence)
    ) WITHOUT ROWID""",
    "CREATE TABLE IF NOT EXISTS scratch (session_id TEXT PRIMARY KEY) WITHOUT ROWID",
)


class SpooledConversation(NamedTuple):
    """A conversation in the file. `ended`: its last entry is the agent's death, or the failure of its start."""

    session_id: str
    epoch: int
    last: int
    command: int
    ended: bool


class SpoolFailed(Exception):
    """The spool cannot be written, so nothing that agents send can be kept. The message says what to do."""


class Spool:
    """Writes survive a kill of the process, but not a power loss: with the machine, the agent is gone as well.

    Raises `apsw.BusyError` if another process has the file, and `SpoolFailed` when it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        private_file(path)
        self._database = database = cast("Connection", apsw.Connection(str(path)))
        for pragma in ("locking_mode = exclusive", "journal_mode = wal", "synchronous = normal"):
            database.execute(f"PRAGMA {pragma}")
        for statement in _SCHEMA:
            database.execute(statement)
        self.bytes = self._total("", ())

    def conversations(self) -> list[SpooledConversation]:
        rows = self._database.execute("SELECT session_id, epoch, last, command, ended FROM conversations")
        found = cast("list[tuple[str, int, int, int, bool]]", rows.fetchall())
        return [SpooledConversation(*row)._replace(ended=bool(row[-1])) for row in found]

    def begin(self, session_id: str, epoch: int) -> None:
        with self._writing():
            self._database.execute(
                "INSERT OR IGNORE INTO conversations (session_id, epoch, last, command) VALUES (?, ?, 0, 0)",
                (session_id, epoch),
            )

    def received(self, session_id: str, epoch: int, command: int) -> None:
        """A command was received, and is carried out once."""
        with self._writing():
            self._database.execute(
                "UPDATE conversations SET command = ? WHERE session_id = ? AND epoch = ?", (command, session_id, epoch)
            )

    def add(self, session_id: str, epoch: int, sequence: int, body: bytes, *, ended: bool = False) -> None:
        with self._writing():
            self._database.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (session_id, epoch, sequence, body))
            self._database.execute(
                "UPDATE conversations SET last = ?, ended = ? WHERE session_id = ? AND epoch = ?",
                (sequence, ended, session_id, epoch),
            )
        self.bytes += len(body)

    def pending(self, session_id: str, epoch: int, after: int, most: int) -> list[bytes]:
        """Entries after a sequence, in order: at least one, and no more than `most` bytes with it."""
        rows = self._database.execute(
            "SELECT body FROM entries WHERE session_id = ? AND epoch = ? AND sequence > ? ORDER BY sequence LIMIT 1000",
            (session_id, epoch, after),
        )
        found: list[bytes] = []
        for (body,) in cast("Iterator[tuple[bytes]]", rows):
            most -= len(body)
            if found and most < 0:
                break
            found.append(body)
        rows.close()
        return found

    def acknowledge(self, session_id: str, epoch: int, sequence: int) -> None:
        """The daemon has stored all entries up to this one."""
        place = (session_id, epoch, sequence)
        where = "WHERE session_id = ? AND epoch = ? AND sequence <= ?"
        total = self._total(where, place)
        with self._writing():
            self._database.execute(f"DELETE FROM entries {where}", place)
        self.bytes -= total

    def forget(self, session_id: str, epoch: int, last: int) -> None:
        self.acknowledge(session_id, epoch, last)
        with self._writing():
            self._database.execute("DELETE FROM conversations WHERE session_id = ? AND epoch = ?", (session_id, epoch))

    def keep_scratch(self, session_id: str) -> None:
        """The session has a private folder on this machine."""
        with self._writing():
            self._database.execute("INSERT OR IGNORE INTO scratch VALUES (?)", (session_id,))

    def drop_scratch(self, session_id: str) -> None:
        with self._writing():
            self._database.execute("DELETE FROM scratch WHERE session_id = ?", (session_id,))

    def scratch(self) -> list[str]:
        """The sessions with a private folder."""
        rows = self._database.execute("SELECT session_id FROM scratch ORDER BY session_id")
        return [session_id for (session_id,) in cast("Iterator[tuple[str]]", rows)]

    @contextmanager
    def _writing(self) -> Generator[None]:
        """One transaction."""
        database = self._database
        try:
            database.execute("BEGIN IMMEDIATE")
            yield
            database.execute("COMMIT")
        except apsw.Error as error:
            if database.in_transaction:  # SQLite itself ends most transactions that find no space
                database.execute("ROLLBACK")
            if not isinstance(error, apsw.FullError | apsw.IOError):
                raise
            raise SpoolFailed(
                f"The runner's spool {self._path} cannot be written: {error}. Make room on its disk, then send again."
            ) from error

    def _total(self, where: str, place: tuple[Value, ...]) -> int:
        (total,) = self._database.execute(f"SELECT total(length(body)) FROM entries {where}", place).fetchall()
        return int(cast("float", total[0]))

    def close(self) -> None:
        self._database.close()
