"""A SQLite log as the source or the target of a copy. A target gets its name when it is whole."""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO, cast

import apsw

from everyagent.clock import SystemClock
from everyagent.errors import StoreUnavailable, Unavailable
from everyagent.log.blobs import Blobs, sync_folder
from everyagent.log.copy.ends import CopyFailed, Source, Target, check_version
from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.database import Database
from everyagent.log.sqlite.group import SqliteGroup
from everyagent.log.sqlite.lock import FolderLock
from everyagent.log.sqlite.migrations import known_version, migrate
from everyagent.private_files import private_file

_FILE = "everyagent.db"
_PIECE_BYTES = 1 << 20


class SqliteSource(Source):
    text_key = "rowid"
    errors = (apsw.Error, OSError)

    def __init__(self, folder: Path) -> None:
        self.name = self.identity = f"sqlite:{folder.resolve()}"
        path = folder / _FILE
        if not path.exists():
            raise StoreUnavailable(f"There is no log in {folder}.")
        self._folder = folder
        self._lock: FolderLock | None = None
        opened = Database(path).reader()
        super().__init__(opened, lambda digest: (folder / "blobs" / digest.hex()).open("rb"))
        self._opened = opened
        (version,) = cast("tuple[int]", opened.execute("PRAGMA user_version").fetchone())
        check_version(self.name, version, known_version())

    def lock(self) -> bool:
        try:
            self._lock = FolderLock(self._folder)
        except Unavailable:
            return False
        return True

    def last_number(self, table: str) -> int:
        row = self.connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        row = row or self.connection.execute(f"SELECT coalesce(max(number), 0) FROM {table}").fetchone()
        return cast("tuple[int]", row)[0]

    def last_commit(self) -> int:
        row = self.connection.execute("SELECT coalesce(max(number), 0) FROM commits").fetchone()
        return cast("tuple[int]", row)[0]

    def close(self) -> None:
        self._opened.close()
        if self._lock is not None:
            self._lock.release()


class SqliteTarget(Target):
    text_key = "rowid"
    errors = (apsw.Error, OSError)

    def __init__(self, folder: Path) -> None:
        """`Unavailable` if another process has the folder."""
        self.name = self.identity = f"sqlite:{folder.resolve()}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = FolderLock(folder)
        try:
            if (folder / _FILE).exists():
                raise CopyFailed(f"There is a log in {folder} already. Choose an empty target; nothing was changed.")
            self._folder = folder
            self._part = folder / f"{_FILE}.part"
            self._blobs = Blobs(folder / "blobs")
            private_file(self._part)
            self._opened = _writer(self._part)
        except BaseException:
            self._lock.release()
            raise
        super().__init__(self._opened)

    def group(self) -> SqliteGroup:
        return SqliteGroup(self.connection, self._blobs, SystemClock(), 0)

    def holds_blob(self, digest: bytes) -> bool:
        return self._blobs.holds(digest)

    def store_blob(self, digest: bytes, file: BinaryIO) -> None:
        draft, found = self._blobs.draft(), hashlib.sha256()
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
            while piece := file.read(_PIECE_BYTES):
                found.update(piece)
                copy.write(piece)
            copy.flush()
            os.fsync(copy.fileno())
        if found.digest() != digest:
            draft.unlink()
            raise CopyFailed("it is damaged")
        self._blobs.adopt(draft, digest)

    def set_last_number(self, table: str, number: int) -> None:
        """Only `asks` gives numbers out again, as it does in every SQLite log."""
        if table != "asks":
            self.connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
            self.connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, number))

    def set_last_commit(self, commit: int) -> None:
        """The last commit keeps its row here, also if its session is gone."""
        self.connection.execute("INSERT INTO commits VALUES (?, 0, 0, 0) ON CONFLICT DO NOTHING", (commit,))

    def finish(self) -> None:
        """Everything is in the file itself when it gets its name."""
        self._opened.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._opened.close()
        sync_folder(self._folder)
        self._part.rename(self._folder / _FILE)
        for suffix in ("-wal", "-shm"):
            self._part.with_name(self._part.name + suffix).unlink(missing_ok=True)
        sync_folder(self._folder)

    def close(self) -> None:
        self._opened.close()
        self._lock.release()

    def _is_begun(self) -> bool:
        found = self.connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'copied'").fetchone()
        return found is not None


def _writer(path: Path) -> Connection:
    opened = Database(path).writer()
    opened.execute("PRAGMA wal_autocheckpoint = 1000").fetchall()
    migrate(opened)
    return opened
