"""Inserts the rows of a group commit into SQLite."""

from functools import cache

from everyagent.clock import Clock
from everyagent.log.sql.connection import Connection, Value
from everyagent.log.sql.group import BlobWriter, Group

#: Rows that one statement inserts. The thread gives up the interpreter at every statement, and must wait to get
#: it back while the event loop is busy: few long statements, not many short ones.
_BATCHES = (256, 32, 4, 1)


class SqliteGroup(Group):
    greatest = "max"

    def __init__(self, connection: Connection, blobs: BlobWriter, clock: Clock, last_commit: int) -> None:
        super().__init__(connection, blobs, clock)
        self.last_commit = last_commit

    def number_commits(self, count: int) -> int:
        self.last_commit += count
        return self.last_commit - count + 1

    def insert(self, table: str, width: int, rows: list[Value]) -> None:
        start = 0
        for size in _BATCHES:
            count = size * width
            while len(rows) - start >= count:
                self.connection.execute(_insert_sql(table, width, size), rows[start : start + count])
                start += count

    def insert_texts(self, rows: list[Value]) -> None:
        self.insert("search (rowid, text)", 2, rows)


@cache
def _insert_sql(table: str, width: int, rows: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"INSERT INTO {table} VALUES {', '.join([row] * rows)}"
