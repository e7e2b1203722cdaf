"""Jobs of the log's one writer, and the results of its group commits."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from everyagent.errors import Unavailable
from everyagent.log.chunk import EventChunk
from everyagent.log.sql.connection import Connection
from everyagent.log.sql.group import Group

T = TypeVar("T")
C_co = TypeVar("C_co", bound=Connection, covariant=True)
Work = Callable[[Group], T]


class Job(NamedTuple):
    """`session` is 0 for work that belongs to none; jobs of one session keep their order."""

    work: Work[object]
    future: asyncio.Future[object]
    session: int
    patient: bool


class Commit(NamedTuple):
    """The result of a group, passed to the event loop in one call. An outcome that is an exception fails its job."""

    outcomes: Sequence[tuple[asyncio.Future[object], object]]
    chunks: Sequence[EventChunk] = ()
    forgotten: Sequence[int] = ()


class Readers(Protocol[C_co]):
    """Threads that read, each with a connection."""

    async def read(self, query: Callable[[C_co], T]) -> T: ...


def closed() -> Unavailable:
    return Unavailable("The log is closed: the daemon is shutting down. Nothing was written; try again later.")
