"""The `Log` on SQLite: one file, one writer, many readers."""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, cast

import apsw

from everyagent.clock import Clock
from everyagent.log.blobs import Blobs, sync_folder
from everyagent.log.sql.log import HEARTBEAT_SECONDS, RECENT_BYTES, SqlLog
from everyagent.log.sqlite.checkpoint import Checkpointer
from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.database import BUSY_SECONDS, Database
from everyagent.log.sqlite.health import OpenedFiles, check, damaged
from everyagent.log.sqlite.lock import FolderLock
from everyagent.log.sqlite.migrations import migrate
from everyagent.log.sqlite.queries import SqliteQueries
from everyagent.log.sqlite.readers import ReaderThreads
from everyagent.log.sqlite.records_store import SqliteRecords
from everyagent.log.sqlite.writer import Writer
from everyagent.private_files import private_file


class _Opened(NamedTuple):
    lock: FolderLock
    database: Database
    connection: Connection
    blobs: Blobs
    files: OpenedFiles | None


class SqliteLog(SqlLog[Connection, Writer]):
    """Made by `open`."""

    identity = b"sqlite"

    def __init__(self, opened: _Opened, clock: Clock, *, recent_bytes: int, heartbeat: float) -> None:
        self._lock = opened.lock
        self._files = opened.files
        self._blobs = opened.blobs
        self._threads = ReaderThreads(opened.database)
        self._checkpointer = Checkpointer(opened.database)
        super().__init__(
            lambda settle: Writer(opened.connection, opened.blobs, clock, self._checkpointer, settle, opened.files),
            self._threads,
            SqliteQueries(opened.blobs),
            clock,
            recent_bytes=recent_bytes,
            heartbeat=heartbeat,
        )
        self.records = SqliteRecords(self._writer, self._threads, opened.blobs)

    @classmethod
    async def open(
        cls,
        folder: Path,
        clock: Clock,
        *,
        vfs: str | None = None,
        recent_bytes: int = RECENT_BYTES,
        heartbeat: float = HEARTBEAT_SECONDS,
        busy_seconds: float = BUSY_SECONDS,
    ) -> "SqliteLog":
        """`Unavailable` if another process has the folder, or a newer everyagent wrote it."""
        opened = await asyncio.get_running_loop().run_in_executor(None, _open, folder, vfs, busy_seconds)
        return cls(opened, clock, recent_bytes=recent_bytes, heartbeat=heartbeat)

    @property
    def lost(self) -> str:
        return self._files.lost() if self._files else ""

    def _close(self) -> None:
        self._writer.join()
        self._threads.close()
        self._checkpointer.close()
        self._lock.release()


def _make_private(database: Path) -> None:
    """SQLite gives the files that it makes beside a database the mode of the database."""
    private_file(database)
    for suffix in ("-wal", "-shm"):
        if (beside := database.with_name(database.name + suffix)).exists():
            private_file(beside)


def _forget_deleted_words(connection: Connection) -> None:
    """Lets the search index remove the words of deleted texts from its pages, not only mark them as deleted."""
    if not connection.execute("SELECT 1 FROM search_config WHERE k = 'secure-delete' AND v = 1").fetchone():
        connection.execute("INSERT INTO search (search, rank) VALUES ('secure-delete', 1)").fetchall()


def _open(folder: Path, vfs: str | None, busy_seconds: float) -> _Opened:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as undo:
        lock = FolderLock(folder)
        undo.callback(lock.release)
        database = Database(folder / "everyagent.db", vfs, busy_seconds)
        if vfs is None:
            _make_private(database.path)
        try:
            connection = database.writer()
            undo.callback(connection.close)
            migrate(connection)
            if vfs is None:
                check(connection, database.path.stat().st_size)
            _forget_deleted_words(connection)
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise damaged(str(database.path), error) from error
        blobs = Blobs(folder / "blobs")
        digests = connection.execute("SELECT DISTINCT digest FROM blobs").fetchall()
        blobs.sweep([cast("bytes", digest) for (digest,) in digests])
        sync_folder(folder)
        sync_folder(folder.parent)
        undo.pop_all()
    return _Opened(lock, database, connection, blobs, OpenedFiles(database.path) if vfs is None else None)
