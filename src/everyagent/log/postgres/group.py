"""Inserts the rows of a group commit into PostgreSQL."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import cast

from everyagent.clock import Clock
from everyagent.log.log import Append
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.partitions import Partitions
from everyagent.log.postgres.words import tsvector
from everyagent.log.sql.connection import Value
from everyagent.log.sql.group import BlobWriter, Group
from everyagent.log.sql.rows import NUMBER_BITS
from everyagent.log.sql.writes import NO_FRAME

_TYPES = {
    "events": ("int8", "int2", "int8", "int8", "bytea", "bytea", "int8"),
    "frames": ("int8", "int2", "int2", "int8", "int8", "int8", "bytea", "bytea"),
    "commits": ("int8", "int8", "int8", "int8"),
}
_ADVANCE = """
UPDATE sessions SET last_sequence = new.head, last_frame = greatest(sessions.last_frame, new.last_frame),
    last_at = greatest(last_at, new.at), updated_at = greatest(updated_at, last_at, new.at)
FROM unnest(?1::int8[], ?2::int8[], ?3::int8[], ?4::int8[], ?5::int8[], ?6::int8[], ?7::int8[])
    AS new (number, epoch, expected, head, first_frame, last_frame, at)
WHERE sessions.number = new.number AND sessions.epoch = new.epoch AND last_sequence = new.expected
    AND sessions.last_frame < new.first_frame
RETURNING sessions.number, new.expected, last_at
"""
_INSERT_TEXTS = """
INSERT INTO search SELECT number, text, words::tsvector
FROM unnest(?1::int8[], ?2::text[], ?3::text[]) AS new (number, text, words)
"""
#: From this many rows on, COPY is faster than one INSERT.
_COPIED_ROWS = 24


class PostgresGroup(Group):
    greatest = "greatest"

    def __init__(self, connection: Connection, blobs: BlobWriter, clock: Clock, partitions: Partitions) -> None:
        super().__init__(connection, blobs, clock)
        self._own = connection
        self._partitions = partitions

    def advance(self, steps: Sequence[Append]) -> None:
        """Updates the rows of plain appends, of different sessions, in one statement: each of its own is a round trip.

        Those whose head is another one are not updated, and refused when it is their turn.
        """
        columns = zip(*map(_head, steps), strict=True)
        rows = self._own.execute(_ADVANCE, [_array(column) for column in columns]).fetchall()
        for session, expected, at in cast("list[tuple[int, int, int]]", rows):
            self.advanced[session, expected] = at

    def number_commits(self, count: int) -> int:
        row = self._own.execute(
            "UPDATE feed SET last_commit = last_commit + ?1 RETURNING last_commit - ?1 + 1", (count,)
        ).fetchone()
        return cast("tuple[int]", row)[0]

    def insert(self, table: str, width: int, rows: list[Value]) -> None:
        if not rows:
            return
        if table != "commits":
            for row in range(0, len(rows), width):
                self._partitions.cover(self._own, cast("int", rows[row]) >> NUMBER_BITS)
        count = len(rows) // width
        if count < _COPIED_ROWS:
            self._own.execute(_insert_sql(table, width, count), rows)
        else:
            self._own.copy(table, _TYPES[table], rows)

    def insert_texts(self, rows: list[Value]) -> None:
        if rows:
            texts = cast("list[str]", rows[1::2])
            self._own.execute(_INSERT_TEXTS, (_array(rows[::2]), texts, [tsvector(text) for text in texts]))


def _array(numbers: Iterable[Value]) -> str:
    """PostgreSQL's text of an array of numbers: psycopg would choose its type by its first number."""
    return f"{{{','.join(map(str, numbers))}}}"


def _head(step: Append) -> tuple[int, ...]:
    frames = step.frames
    first, last = (frames[0].number, frames[-1].number) if frames else (NO_FRAME, 0)
    return step.session, step.epoch, step.expected, step.expected + len(step.events), first, last, step.at


@cache
def _insert_sql(table: str, width: int, rows: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"INSERT INTO {table} VALUES {', '.join([row] * rows)}"
