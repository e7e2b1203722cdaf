"""Bounds the reads that look through many events, so that other reads always find a free thread."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from everyagent.errors import Unavailable
from everyagent.log.sql.connection import Connection
from everyagent.log.sql.jobs import Readers

SCANS = 2
WAITING_SCANS = 32

C = TypeVar("C", bound=Connection)
T = TypeVar("T")


class Scans(Generic[C]):
    """`SCANS` run at a time, `WAITING_SCANS` wait; further ones are `Unavailable`."""

    def __init__(self, readers: Readers[C]) -> None:
        self._readers = readers
        self._free = asyncio.Semaphore(SCANS)
        self._waiting = 0

    async def read(self, query: Callable[[C], T]) -> T:
        if self._waiting >= WAITING_SCANS:
            raise Unavailable(f"{WAITING_SCANS} searches wait already. Try again later.")
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            return await self._readers.read(query)
        finally:
            self._free.release()
