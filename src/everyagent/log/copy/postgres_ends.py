"""A PostgreSQL log as the source or the target of a copy. All blobs of a target are in the database."""

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, cast

import psycopg

from everyagent.clock import SystemClock
from everyagent.errors import StoreUnavailable
from everyagent.log.blob_stores.store import BlobStore
from everyagent.log.copy.ends import FILLED, CopyFailed, Source, Target, check_version, not_empty
from everyagent.log.postgres.blobs import BlobReader, PostgresBlobs
from everyagent.log.postgres.connection import Connection, encoded
from everyagent.log.postgres.database import Database
from everyagent.log.postgres.group import PostgresGroup
from everyagent.log.postgres.lease import StoreLease, identity, lock, locked_at_once
from everyagent.log.postgres.migrations import known_version, migrate
from everyagent.log.postgres.partitions import Partitions
from everyagent.log.sql.connection import Row

_PIECE_BYTES = 1 << 20


class PostgresSource(Source):
    text_key = "key"
    errors = (psycopg.Error, OSError)

    def __init__(self, url: str, outside: BlobStore | None) -> None:
        """`outside` has the blobs that are not in the database."""
        database = Database(url)
        self.name = database.name
        self._folder = TemporaryDirectory()
        self._opened = database.connect()
        self._reader = BlobReader(outside, Path(self._folder.name))
        super().__init__(self._opened, self._open_blob)
        with explained(self.name):
            if self._opened.execute("SELECT to_regclass('everyagent_schema')").fetchone() == (None,):
                raise StoreUnavailable(f"There is no log in {self.name}.")
            (version,) = cast("tuple[int]", self._opened.execute("SELECT version FROM everyagent_schema").fetchone())
            check_version(self.name, version, known_version())
            self.identity = identity(self._opened).decode()

    def lock(self) -> bool:
        return locked_at_once(self._opened)

    def last_number(self, table: str) -> int:
        sequence = "pg_sequence_last_value(pg_get_serial_sequence(?, 'number')::regclass)"
        row = self._opened.execute(f"SELECT coalesce({sequence}, 0)", (table,)).fetchone()
        return cast("tuple[int]", row)[0]

    def last_commit(self) -> int:
        return cast("tuple[int]", self._opened.execute("SELECT last_commit FROM feed").fetchone())[0]

    def close(self) -> None:
        self._opened.close()
        self._folder.cleanup()

    def _open_blob(self, digest: bytes) -> BinaryIO:
        return self._reader.copy_inside(self._opened, digest) or self._reader.copy_outside(digest)


class PostgresTarget(Target):
    text_key = "key"
    errors = (psycopg.Error, OSError)

    def __init__(self, url: str) -> None:
        """`StoreUnavailable` if it cannot be reached, or a daemon uses it; `CopyFailed` if a log is in it.

        In both cases nothing was changed.
        """
        database = Database(url)
        self.name = database.name
        self._opened: Connection = database.connect()
        super().__init__(self._opened)
        self._partitions = Partitions()
        try:
            with explained(self.name):
                lock(self._opened, self.name, shared=False)
                self._check_empty()
                migrate(self._opened, self.name)
                self._lease = StoreLease(database, self._opened)
                self.identity = identity(self._opened).decode()
        except BaseException:
            self._opened.close()
            raise

    def group(self) -> PostgresGroup:
        return PostgresGroup(self._opened, PostgresBlobs(self._opened), SystemClock(), self._partitions)

    def fitting(self, row: Row) -> Row:
        return tuple(encoded(value).decode() if isinstance(value, str) else value for value in row)

    def holds_blob(self, digest: bytes) -> bool:
        found = self._opened.execute("SELECT 1 FROM blob_pieces WHERE digest = ? AND number = 0", (digest,)).fetchone()
        return found is not None

    def store_blob(self, digest: bytes, file: BinaryIO) -> None:
        found = hashlib.sha256()
        while piece := file.read(_PIECE_BYTES):
            found.update(piece)
        if found.digest() != digest:
            raise CopyFailed("it is damaged")
        file.seek(0)
        with self._opened:
            PostgresBlobs(self._opened).store(digest, file)

    def set_last_number(self, table: str, number: int) -> None:
        if number:
            self._opened.execute("SELECT setval(pg_get_serial_sequence(?, 'number')::regclass, ?)", (table, number))

    def set_last_commit(self, commit: int) -> None:
        self._opened.execute("UPDATE feed SET last_commit = ?", (commit,))

    def finish(self) -> None:
        """The transaction that dropped the table `copied` was the last step."""

    def close(self) -> None:
        self._lease.release(self._opened)

    def _is_begun(self) -> bool:
        return self._has("copied")

    def _check_empty(self) -> None:
        """Tables of an earlier version may be there."""
        if not self._is_begun() and any(self._has(table.name) and self.count(table) for table in FILLED):
            raise not_empty(self.name)

    def _has(self, table: str) -> bool:
        return self._opened.execute("SELECT to_regclass(?)", (table,)).fetchone() != (None,)


@contextmanager
def explained(name: str) -> Generator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise StoreUnavailable(f"The PostgreSQL store {name} cannot be used: {error}") from error
