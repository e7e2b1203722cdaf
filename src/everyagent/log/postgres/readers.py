"""A few threads that read, each with its own connection, so that the event loop never waits for the database."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psycopg

from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.database import Database

THREADS = 4

T = TypeVar("T")


class ReaderThreads:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="log-reader")
        self._local = threading.local()
        self._connections: set[Connection] = set()
        self._loop = asyncio.get_running_loop()

    async def read(self, query: Callable[[Connection], T]) -> T:
        return await self._loop.run_in_executor(self._threads, self._read, query)

    def close(self) -> None:
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def _read(self, query: Callable[[Connection], T]) -> T:
        """A connection that was lost while it was idle is replaced once: a read can be repeated."""
        connection, fresh = self._connection()
        try:
            return query(connection)
        except psycopg.Error as error:
            if not connection.lost or fresh:
                raise self._database.read_failure(error) from error
        connection, _ = self._connection()
        try:
            return query(connection)
        except psycopg.Error as error:
            raise self._database.read_failure(error) from error

    def _connection(self) -> tuple[Connection, bool]:
        """The connection of this thread, and whether it is new."""
        held: Connection | None = getattr(self._local, "connection", None)
        if held is not None and not held.lost:
            return held, False
        if held is not None:
            self._connections.discard(held)
        made = self._local.connection = self._database.connect()
        self._connections.add(made)
        return made, True
