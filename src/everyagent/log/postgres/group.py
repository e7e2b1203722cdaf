"""Inserts the rows of a group commit into PostgreSQL."""

from functools import cache
from typing import cast

from everyagent.clock import Clock
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.partitions import Partitions
from everyagent.log.postgres.words import tsvector
from everyagent.log.sql.connection import Value
from everyagent.log.sql.group import BlobWriter, Group
from everyagent.log.sql.rows import NUMBER_BITS

_TYPES = {
    "events": ("int8", "int2", "int8", "int8", "bytea", "bytea", "int8"),
    "frames": ("int8", "int2", "int2", "int8", "int8", "int8", "bytea", "bytea"),
    "commits": ("int8", "int8", "int8", "int8"),
}
#: From this many rows on, COPY is faster than one INSERT.
_COPIED_ROWS = 24


class PostgresGroup(Group):
    greatest = "greatest"

    def __init__(self, connection: Connection, blobs: BlobWriter, clock: Clock, partitions: Partitions) -> None:
        super().__init__(connection, blobs, clock)
        self._own = connection
        self._partitions = partitions

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
        for start in range(0, len(rows), 2):
            key, text = rows[start], cast("str", rows[start + 1])
            self._own.execute("INSERT INTO search VALUES (?, ?, ?::tsvector)", (key, text, tsvector(text)))


@cache
def _insert_sql(table: str, width: int, rows: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"INSERT INTO {table} VALUES {', '.join([row] * rows)}"
