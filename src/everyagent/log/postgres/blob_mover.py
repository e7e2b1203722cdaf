"""Moves contents from the database to the store outside of it, and removes unused ones there. A thread of its own."""

import threading
from contextlib import suppress

import psycopg

from everyagent.errors import EveryagentError
from everyagent.log.blob_stores.store import BlobStore
from everyagent.log.postgres import blobs
from everyagent.log.postgres.blobs import BlobReader
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.database import Database
from everyagent.log.retries import Retries

MOVE_SECONDS = 5.0
_SWEEP_ROUNDS = 120
_BATCH = 20
#: The advisory lock of the node that moves: one is enough.
_LOCK = 0x65766562


class BlobMover:
    """Anything that fails is tried again: the contents stay in the database until they are outside."""

    def __init__(self, database: Database, outside: BlobStore, reader: BlobReader) -> None:
        self._database = database
        self._outside = outside
        self._reader = reader
        self._connection: Connection | None = None
        self._retries = Retries(f"moving blobs to {outside.name}")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="blob-mover", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        if self._connection is not None:
            self._connection.close()

    def _run(self) -> None:
        rounds = 0
        while not self._stop.wait(MOVE_SECONDS):
            if self._retries.due:
                continue
            try:
                connection = self._locked()
                if connection is not None:
                    self._move(connection)
                    if rounds % _SWEEP_ROUNDS == 0:
                        while blobs.sweep(connection, self._outside) and not self._stop.is_set():
                            pass
                    rounds += 1
            except (psycopg.Error, EveryagentError, OSError) as error:
                self._retries.failed(error)
                self._drop_connection()
            else:
                self._retries.succeeded()

    def _locked(self) -> Connection | None:
        """None while another node moves."""
        if self._connection is None or self._connection.lost:
            self._connection = self._database.connect()
        row = self._connection.execute(
            "SELECT pg_try_advisory_lock(?::int, hashtext(current_schema()))", (_LOCK,)
        ).fetchone()
        return self._connection if row and row[0] else None

    def _move(self, connection: Connection) -> None:
        while (found := blobs.inside(connection, _BATCH)) and not self._stop.is_set():
            for digest in found:
                with suppress(FileNotFoundError):  # nothing refers to it any more: it is swept, not moved
                    copy = self._reader.copy_inside(connection, digest)
                    if copy is not None:
                        with copy:
                            blobs.put_outside(connection, self._outside, digest, copy)
            if len(found) < _BATCH:
                return

    def _drop_connection(self) -> None:
        """The lock goes with it."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None
