"""The daemon's place in the database: an advisory lock that keeps a second daemon out, and the last group committed."""

import uuid
from contextlib import suppress
from typing import cast

import psycopg

from everyagent.errors import StoreUnavailable
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.database import Database

#: A dead daemon's lock is given up by the server within about 11 seconds, even if its machine is gone.
LOCK_SECONDS = 13
_LOCK = 0x65766573


class StoreLease:
    """Held from construction. The lock is for a clear message; epochs and expected sequences keep the log safe."""

    def __init__(self, database: Database, connection: Connection, *, shared: bool = False) -> None:
        """On a connection that has the `lock`, after the migrations.

        `shared`: other daemons may use the database, too.
        """
        self._database = database
        self.shared = shared
        self._writer = uuid.uuid4().hex
        self.connection = connection
        if not shared:  # no node is there: the next one may bring another key
            connection.execute("DELETE FROM cluster")
        connection.execute("INSERT INTO writers VALUES (?, 0, now())", (self._writer,))
        row = connection.execute("SELECT last_commit FROM feed").fetchone()
        self.last_commit = cast("tuple[int]", row)[0]
        self.identity = identity(connection)

    def renew(self) -> Connection:
        """A new connection with the lock, after the old one was lost."""
        connection = self._database.connect()
        try:
            lock(connection, self._database.name, shared=self.shared)
        except psycopg.Error as error:
            connection.close()
            raise self._database.away(str(error)) from error
        except StoreUnavailable:
            connection.close()
            raise
        return connection

    def begin(self, connection: Connection) -> None:
        """Begins a group's transaction. Those of several nodes run one after the other: every check before a write
        holds until the commit."""
        connection.execute("BEGIN")
        if self.shared:
            connection.execute("SELECT 1 FROM feed FOR UPDATE")

    def mark(self, connection: Connection, number: int) -> None:
        """In a group's transaction: leaves its number."""
        connection.execute("UPDATE writers SET last_group = ?, at = now() WHERE writer = ?", (number, self._writer))

    def last_group(self, connection: Connection) -> int:
        """The last group that was committed. Waits while the server still works on one."""
        row = connection.execute(
            "SELECT last_group FROM writers WHERE writer = ? FOR UPDATE", (self._writer,)
        ).fetchone()
        return cast("tuple[int]", row)[0] if row else 0

    def release(self, connection: Connection) -> None:
        with suppress(psycopg.Error):  # the server does the same when it finds the connection closed
            connection.execute("DELETE FROM writers WHERE writer = ?", (self._writer,))
        connection.close()


def lock(connection: Connection, name: str, *, shared: bool) -> None:
    """Keeps daemons out that do not share the database, before anything is read or changed in it.

    Raises `StoreUnavailable` if one has the lock.
    """
    connection.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
    function = "pg_advisory_lock_shared" if shared else "pg_advisory_lock"
    try:
        connection.execute(f"SELECT {function}(?::int, hashtext(current_schema()))", (_LOCK,))
    except psycopg.errors.LockNotAvailable:
        raise StoreUnavailable(
            f"The PostgreSQL store {name} is in use by another everyagent. Stop that one first, or choose another "
            "database with --store. Daemons that share a database all need --cluster.",
        ) from None
    connection.execute("SET lock_timeout = '0'")


def locked_at_once(connection: Connection) -> bool:
    """Locks a database against daemons, if none uses it."""
    found = connection.execute("SELECT pg_try_advisory_lock(?::int, hashtext(current_schema()))", (_LOCK,))
    return found.fetchone() == (True,)


def identity(connection: Connection) -> bytes:
    """Differs between databases, also if one was copied from the other by a dump."""
    row = connection.execute(
        "SELECT system_identifier || '/' || current_database() || '/' || current_schema()::regnamespace::oid "
        "FROM pg_control_system()"
    ).fetchone()
    return cast("tuple[str]", row)[0].encode()
