"""The `Log` on PostgreSQL: one writer, a few readers, and blobs in the database or outside of it."""

import asyncio
from pathlib import Path
from typing import ClassVar, Self, cast

import psycopg

from everyagent.clock import Clock
from everyagent.errors import StoreUnavailable
from everyagent.log.blob_stores.store import BlobStore
from everyagent.log.postgres import blob_place
from everyagent.log.postgres.blob_mover import BlobMover
from everyagent.log.postgres.blobs import BlobReader
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.database import Database
from everyagent.log.postgres.lease import StoreLease, lock
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
        self,
        database: Database,
        lease: StoreLease,
        reader: BlobReader,
        folder: Path,
        clock: Clock,
        *,
        recent_bytes: int,
        heartbeat: float,
    ) -> None:
        self.database = database
        self.identity = lease.identity
        self._threads = ReaderThreads(database)
        super().__init__(
            lambda settle: Writer(database, lease, clock, settle, sweeps=reader.outside is None),
            self._threads,
            PostgresQueries(reader),
            clock,
            recent_bytes=recent_bytes,
            heartbeat=heartbeat,
        )
        self.records = PostgresRecords(self._writer, self._threads, database, reader, folder)
        self._mover = BlobMover(database, reader.outside, reader) if reader.outside else None

    @classmethod
    async def open(
        cls,
        url: str,
        folder: Path,
        clock: Clock,
        *,
        outside: BlobStore | None = None,
        recent_bytes: int = RECENT_BYTES,
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> Self:
        """`folder` is for uploads in progress, `outside` for large bodies and uploads, by default in the database.

        `StoreUnavailable` if the database or the store for blobs cannot be reached or used.
        """
        database, reader = Database(url), BlobReader(outside, folder)
        lease = await asyncio.get_running_loop().run_in_executor(None, _open, database, outside, folder, cls.shared)
        return cls(database, lease, reader, folder, clock, recent_bytes=recent_bytes, heartbeat=heartbeat)

    def _close(self) -> None:
        if self._mover is not None:
            self._mover.close()
        self._writer.join()
        self._threads.close()


def _open(database: Database, outside: BlobStore | None, folder: Path, shared: bool) -> StoreLease:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for draft in folder.glob("*.draft"):
        draft.unlink()
    connection = database.connect()
    try:
        _check_server(connection, database)
        lock(connection, database.name, shared=shared)
        _check_whole(connection, database)
        migrate(connection, database.name)
        lease = StoreLease(database, connection, shared=shared)
        blob_place.check(connection, database.name, outside)
        return lease
    except psycopg.Error as error:
        connection.close()
        raise StoreUnavailable(f"The PostgreSQL store {database.name} cannot be used: {error}") from error
    except StoreUnavailable:
        connection.close()
        raise


def _check_whole(connection: Connection, database: Database) -> None:
    if connection.execute("SELECT to_regclass('copied')").fetchone() != (None,):
        raise StoreUnavailable(
            f"A copy to the PostgreSQL store {database.name} was begun and not finished. Finish it: "
            "`everyagent log copy` with the same --from and --to."
        )


def _check_server(connection: Connection, database: Database) -> None:
    version, encoding = cast(
        "tuple[str, str]",
        connection.execute(
            "SELECT current_setting('server_version_num'), current_setting('server_encoding')"
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
