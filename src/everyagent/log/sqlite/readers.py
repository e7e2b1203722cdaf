"""A few threads that read, each with its own connection, so that the event loop never waits for the disk."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import apsw

from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.database import Database, read_failure

THREADS = 4

T = TypeVar("T")


class ReaderThreads:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="log-reader")
        self._local = threading.local()
        self._connections: list[Connection] = []
        self._loop = asyncio.get_running_loop()

    async def read(self, query: Callable[[Connection], T]) -> T:
        return await self._loop.run_in_executor(self._threads, self._read, query)

    def close(self) -> None:
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def _read(self, query: Callable[[Connection], T]) -> T:
        connection = self._connection()
        try:
            return query(connection)
        except (apsw.Error, OSError) as error:
            raise read_failure(error, connection) from error

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._database.reader()
            self._connections.append(connection)
        return connection
