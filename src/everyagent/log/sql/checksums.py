"""Checksums of stored bodies: finds those that are not what was committed."""

import hashlib
import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar, cast
from zlib import crc32

from everyagent.errors import LogDamaged
from everyagent.log.projections import PROJECTION
from everyagent.log.sql.connection import Connection
from everyagent.log.sql.jobs import Readers
from everyagent.log.sql.rows import NUMBER_BITS, NUMBER_MASK, no_such_session
from everyagent.log.sql.spans import EventRange
from everyagent.logs import get_logger

#: A page is not checked again for this long.
CHECKED_SECONDS = 10.0
#: Pages that are remembered as checked.
_REMEMBERED = 1_000
#: Damaged records that are counted one by one.
_COUNTED = 10_000

logger = get_logger(__name__)

C = TypeVar("C", bound=Connection)
T = TypeVar("T")


def intact(body: bytes, crc: int | None, digest: bytes | None) -> bool:
    """`digest` is that of a body from a blob. A body from before there were checksums has neither."""
    if digest is not None:
        return hashlib.sha256(body).digest() == digest
    return crc is None or crc32(body) == crc


def all_intact(bodies: list[bytes], count: int, total: int | None) -> bool:
    """Checks bodies by the number and the sum of their checksums. False also if only some of them have one."""
    return not count or (count == len(bodies) and sum(map(crc32, bodies)) == total)


def damaged_event(connection: Connection, key: int) -> LogDamaged:
    sequence = key & NUMBER_MASK
    session_id = _session_id(connection, key >> NUMBER_BITS)
    return LogDamaged(
        f"Event {sequence} of session {session_id!r} is damaged in the database: it is not what was written. Events "
        f"before and after it can be read: continue with offset={sequence}. A backup of the database has it.",
        sequence,
        sessionId=session_id,
    )


def damaged_frame(connection: Connection, session: int, number: int, sequence: int = 0) -> LogDamaged:
    """`sequence` is that of an event which is read together with the frame."""
    session_id = _session_id(connection, session)
    return LogDamaged(
        f"Frame {number} of session {session_id!r} is damaged in the database: it is not what was written. Other "
        "frames, and events without their frames, can be read. A backup of the database has it.",
        sequence,
        sessionId=session_id,
        frame=number,
    )


def _session_id(connection: Connection, session: int) -> str:
    row = connection.execute("SELECT session_id FROM sessions WHERE number = ?", (session & ~PROJECTION,)).fetchone()
    if row is None:  # deleted while it was read
        raise no_such_session(session & ~PROJECTION)
    return cast("str", row[0])


class RecentChecks:
    """Pages that were found intact a moment ago, so that one which is polled is not checked at every request.

    Used by several threads: each call is one operation of a dict.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[EventRange, float] = {}

    def __contains__(self, span: EventRange) -> bool:
        return self._until.get(span, 0.0) > self._clock()

    def add(self, span: EventRange) -> None:
        if len(self._until) >= _REMEMBERED:
            self._until.clear()
        self._until[span] = self._clock() + CHECKED_SECONDS


class CheckedReaders(Generic[C]):
    """Readers that log and count each damaged record that is found. Called on the event loop."""

    def __init__(self, readers: Readers[C]) -> None:
        self._readers = readers
        self._found: set[str] = set()

    @property
    def damaged(self) -> int:
        return len(self._found)

    def note(self, errors: Iterable[LogDamaged]) -> None:
        for error in errors:
            if error.detail not in self._found and len(self._found) < _COUNTED:
                self._found.add(error.detail)
                logger.error("a stored record is damaged", reason=error.detail)

    async def read(self, query: Callable[[C], T]) -> T:
        try:
            return await self._readers.read(query)
        except LogDamaged as error:
            self.note([error])
            raise
