"""The `Log` on PostgreSQL: one writer, a few readers, and blobs in the database."""

import asyncio
from pathlib import Path
from typing import ClassVar, Self, cast

import psycopg

from everyagent.clock import Clock
from everyagent.errors import StoreUnavailable
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.database import Database
from everyagent.log.postgres.lease import StoreLease
from everyagent.log.postgres.migrations import migrate
from everyagent.log.postgres.queries import PostgresQueries
from everyagent.log.postgres.readers import ReaderThreads
from everyagent.log.postgres.records_store import PostgresRecords
from everyagent.log.postgres.writer import Writer
from everyagent.log.sql.log import HEARTBEAT_SECONDS, RECENT_BYTES, SqlLog

#: `server_version_num` of the oldest PostgreSQL that is supported.
OLDEST_SERVER = 130000


class PostgresLog(SqlLog[Connection, Writer]):
    """Made by `open`. `shared`: other daemons may use the database at the same time."""

    shared: ClassVar[bool] = False

    def __init__(
        self, database: Database, lease: StoreLease, folder: Path, clock: Clock, *, recent_bytes: int, heartbeat: float
    ) -> None:
        self.database = database
        self._threads = ReaderThreads(database)
        super().__init__(
            lambda settle: Writer(database, lease, clock, settle),
            self._threads,
            PostgresQueries(),
            clock,
            recent_bytes=recent_bytes,
            heartbeat=heartbeat,
        )
        self.records = PostgresRecords(self._writer, self._threads, folder)

    @classmethod
    async def open(
        cls,
        url: str,
        folder: Path,
        clock: Clock,
        *,
        recent_bytes: int = RECENT_BYTES,
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> Self:
        """`folder` is for uploads in progress. `StoreUnavailable` if the database cannot be reached or used."""
        database = Database(url)
        lease = await asyncio.get_running_loop().run_in_executor(None, _open, database, folder, cls.shared)
        return cls(database, lease, folder, clock, recent_bytes=recent_bytes, heartbeat=heartbeat)

    def _close(self) -> None:
        self._writer.join()
        self._threads.close()


def _open(database: Database, folder: Path, shared: bool) -> StoreLease:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for draft in folder.glob("*.draft"):
        draft.unlink()
    connection = database.connect()
    try:
        _check_server(connection, database)
        migrate(connection, database.name)
        return StoreLease(database, connection, shared=shared)
    except psycopg.Error as error:
        connection.close()
        raise StoreUnavailable(f"The PostgreSQL store {database.name} cannot be used: {error}") from error
    except StoreUnavailable:
        connection.close()
        raise


def _check_server(connection: Connection, database: Database) -> None:
    version, encoding, synchronous = cast(
        "tuple[str, str, str]",
        connection.execute(
            "SELECT current_setting('server_version_num'), current_setting('server_encoding'), "
            "current_setting('synchronous_commit')"
        ).fetchone(),
    )
    if int(version) < OLDEST_SERVER:
        raise StoreUnavailable(
            f"The PostgreSQL store {database.name} has the server version {version}; {OLDEST_SERVER} is the oldest."
        )
    if encoding != "UTF8":
        raise StoreUnavailable(
            f"The PostgreSQL store {database.name} has the encoding {encoding}. Make a database with the encoding UTF8."
        )
    if synchronous == "off":
        connection.execute("SET synchronous_commit = on")
