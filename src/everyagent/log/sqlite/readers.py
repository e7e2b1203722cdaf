"""A few threads that read, each with its own connection, so that the event loop never waits for the disk."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import apsw

from everyagent.errors import Unavailable
from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.database import Database, read_failure

THREADS = 4
#: After so many of SQLite's instructions (some milliseconds) a statement asks whether its caller still waits.
INSTRUCTIONS_BETWEEN_CHECKS = 100_000

T = TypeVar("T")


class ReaderThreads:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="log-reader")
        self._local = threading.local()
        self._connections: list[Connection] = []
        self._loop = asyncio.get_running_loop()

    async def read(self, query: Callable[[Connection], T]) -> T:
        """A read whose caller is cancelled is interrupted, so that it does not keep its thread from others."""
        running = _Running()
        try:
            return await self._loop.run_in_executor(self._threads, self._read, query, running)
        except asyncio.CancelledError:
            running.interrupt()
            raise

    def close(self) -> None:
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def _read(self, query: Callable[[Connection], T], running: "_Running") -> T:
        try:
            connection = self._connection()
        except apsw.Error as error:
            raise Unavailable(f"The log could not be opened for reading ({error}). Try again.") from error
        running.begin(connection)
        self._local.running = running
        try:
            return query(connection)
        except (apsw.Error, OSError) as error:
            raise read_failure(error, connection) from error
        finally:
            self._local.running = None
            running.end()

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._database.reader()
            connection.set_progress_handler(self._abandoned, INSTRUCTIONS_BETWEEN_CHECKS)
            self._connections.append(connection)
        return connection

    def _abandoned(self) -> bool:
        """True ends the statement of this thread: an interrupt that came just before it began had no effect."""
        running: _Running | None = getattr(self._local, "running", None)
        return running is not None and running.interrupted


class _Running:
    """The connection on which a query runs now. An interrupt never reaches the next query on it."""

    __slots__ = ("_connection", "_lock", "interrupted")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self.interrupted = False

    def begin(self, connection: Connection) -> None:
        with self._lock:
            if self.interrupted:
                raise Unavailable("The caller of this read has gone.")
            self._connection = connection

    def end(self) -> None:
        with self._lock:
            self._connection = None

    def interrupt(self) -> None:
        with self._lock:
            self.interrupted = True
            if self._connection is not None:
                self._connection.interrupt()
