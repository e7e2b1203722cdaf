"""SQLite connections, set up by role, and the translation of their errors."""

import errno
from pathlib import Path
from typing import cast

import apsw

from everyagent.errors import CommitFailed, EveryagentError, LogDamaged, StorageFull, Unavailable
from everyagent.log.sqlite.connection import Connection

#: How long a connection waits for a lock that another connection or program holds.
BUSY_SECONDS = 10.0
#: The write-ahead log's file is cut back to this size when it starts anew.
WAL_KEPT_BYTES = 32 << 20
FULL = "The disk is full, so nothing was written. Free some space; the daemon goes on by itself."


class Database:
    """`vfs` names an SQLite VFS; None is the system's own."""

    def __init__(self, path: Path, vfs: str | None = None, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self._vfs = vfs
        self._busy_millis = int(busy_seconds * 1000)

    def writer(self) -> Connection:
        """The only connection that writes. It never checkpoints by itself: a commit waits for one fsync, no more."""
        return self._connect(
            "journal_mode = wal",
            "synchronous = full",
            "secure_delete = on",
            f"journal_size_limit = {WAL_KEPT_BYTES}",
            "cache_size = -4096",
        )

    def checkpointer(self) -> Connection:
        return self._connect("synchronous = full", "cache_size = -256", create=False)

    def reader(self) -> Connection:
        return self._connect("query_only = on", "cache_size = -1024", create=False)

    def _connect(self, *pragmas: str, create: bool = True) -> Connection:
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
        opened = apsw.Connection(str(self.path), flags, vfs=self._vfs)
        opened.set_busy_timeout(self._busy_millis)
        opened.wal_autocheckpoint(0)
        opened.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection = cast("Connection", opened)
        for pragma in ("temp_store = memory", *pragmas):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        return connection


def is_full(error: Exception, connection: Connection) -> bool:
    match error:
        case apsw.FullError():
            return True
        case apsw.IOError() | apsw.CantOpenError():
            return connection.system_errno in (errno.ENOSPC, errno.EDQUOT)
        case OSError():
            return error.errno in (errno.ENOSPC, errno.EDQUOT)
        case _:
            return False


def read_failure(error: Exception, connection: Connection) -> EveryagentError:
    """The error for the caller of a read that the database or a blob file failed."""
    if is_full(error, connection):
        return StorageFull(FULL)
    if isinstance(error, apsw.CorruptError):
        return LogDamaged(
            f"A part of the database is damaged, so this cannot be read ({error}). Other sessions may be readable. "
            "Restore the database from a backup; `everyagent doctor` shows its state."
        )
    return Unavailable(f"The log could not be read ({error}). Try again.")


def commit_failure(error: Exception) -> Exception:
    """The error for the caller of a write that failed, except for lack of space. Other exceptions do not change."""
    if isinstance(error, (apsw.Error, OSError)):
        return CommitFailed(f"The log could not be written ({error}). Nothing was acknowledged; try again.")
    return error
