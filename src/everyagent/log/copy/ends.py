"""The two ends of a copy: a log that is read, and one that is written. Each database has its own kind."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import BinaryIO, ClassVar, cast

from everyagent.errors import EveryagentError, StoreUnavailable
from everyagent.log.copy.tables import SESSIONS, RowRange, Table
from everyagent.log.sql.connection import Connection, Row, Value
from everyagent.log.sql.group import Group
from everyagent.log.sql.verify import OpenBlob

#: Rows of a page. A row has at most two bodies of 256 KiB.
PAGE_ROWS = 200
#: Tables whose rows the log writes in its own way.
_GROUPED = ("events", "frames", "commits")
#: A log with nothing in these is empty.
FILLED = (SESSIONS, Table("records", ()), Table("audit", ()))


class CopyFailed(EveryagentError, code="copy_failed"): ...


class End(ABC):
    """`name` is for people; `identity` differs from that of every other log."""

    name: str
    identity: str
    #: The name of the key of search texts.
    text_key: ClassVar[str]
    #: Exceptions of its database.
    errors: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @abstractmethod
    def close(self) -> None: ...

    def page(self, span: RowRange, limit: int = -1) -> list[Row]:
        """Rows in the order of their keys. Without a limit, all of them."""
        after, until = span.after, span.until
        bound = f"LIMIT {limit}" if limit > 0 else ""
        columns, key = self._columns(span.table)
        return self.connection.execute(
            f"SELECT {', '.join(columns)} FROM {span.table.name} WHERE {key} > ? AND {key} <= ? ORDER BY {key} {bound}",
            (after, until),
        ).fetchall()

    def all_rows(self, table: Table) -> Iterator[list[Row]]:
        """All rows of a table in `REPLACED`, in pages."""
        columns, keys = ", ".join(table.columns), ", ".join(table.columns[: table.keys])
        after: Row = ()
        while True:
            behind = f"WHERE ({keys}) > ({', '.join('?' * table.keys)})" if after else ""
            rows = self.connection.execute(
                f"SELECT {columns} FROM {table.name} {behind} ORDER BY {keys} LIMIT {PAGE_ROWS}", after
            ).fetchall()
            yield rows
            if len(rows) < PAGE_ROWS:
                return
            after = rows[-1][: table.keys]

    def count(self, table: Table = SESSIONS) -> int:
        return cast("int", (self.connection.execute(f"SELECT count(*) FROM {table.name}").fetchone() or (0,))[0])

    def _columns(self, table: Table) -> tuple[Sequence[str], str]:
        """The columns of a table here, and its key."""
        columns = table.columns if table.name != "search" else (self.text_key, *table.columns[1:])
        return columns, columns[0]


class Source(End):
    """Only read. It may be in use by a daemon, unless it is `locked`."""

    def __init__(self, connection: Connection, open_blob: OpenBlob) -> None:
        super().__init__(connection)
        self.open_blob = open_blob

    def digests(self) -> Iterator[bytes]:
        """Of all blobs, in pages."""
        after = b""
        while True:
            rows = self.connection.execute(
                f"SELECT DISTINCT digest FROM blobs WHERE digest > ? ORDER BY digest LIMIT {PAGE_ROWS}", (after,)
            ).fetchall()
            yield from (cast("bytes", digest) for (digest,) in rows)
            if len(rows) < PAGE_ROWS:
                return
            after = cast("bytes", rows[-1][0])

    def blob_count(self) -> int:
        row = self.connection.execute("SELECT count(DISTINCT digest) FROM blobs").fetchone()
        return cast("tuple[int]", row)[0]

    @abstractmethod
    def lock(self) -> bool:
        """Keeps daemons out until the end of the copy. False if one uses the log."""
        ...

    @abstractmethod
    def last_number(self, table: str) -> int:
        """The highest number that a table has ever given out."""
        ...

    @abstractmethod
    def last_commit(self) -> int: ...


class Target(End):
    """Held exclusively. `copied` has the sessions that were copied before, and a digest of each; its row 0 names the
    source. No daemon opens a log with this table."""

    @abstractmethod
    def group(self) -> Group:
        """Writes rows as the log does."""
        ...

    @abstractmethod
    def holds_blob(self, digest: bytes) -> bool: ...

    @abstractmethod
    def store_blob(self, digest: bytes, file: BinaryIO) -> None:
        """Raises `CopyFailed` if the contents have another digest."""
        ...

    @abstractmethod
    def set_last_number(self, table: str, number: int) -> None: ...

    @abstractmethod
    def set_last_commit(self, commit: int) -> None: ...

    @abstractmethod
    def finish(self) -> None:
        """Everything is copied: from now on, a daemon may open the log."""
        ...

    def fitting(self, row: Row) -> Row:
        """The row as this database can hold it."""
        return row

    def begin(self, source: Source) -> dict[int, bytes]:
        """Digests of the sessions that an earlier copy from the same source has copied. Raises `CopyFailed`."""
        if not self._is_begun():
            if any(self.count(table) for table in FILLED):
                raise not_empty(self.name)
            with self.connection:
                self.connection.execute("CREATE TABLE copied (session bigint PRIMARY KEY, mark bytea NOT NULL)")
                self.connection.execute("INSERT INTO copied VALUES (0, ?)", (source.identity.encode(),))
        marks = dict(cast("list[tuple[int, bytes]]", self.connection.execute("SELECT * FROM copied").fetchall()))
        if marks.pop(0).decode() != source.identity:
            raise CopyFailed(
                f"A copy from another log to {self.name} was begun and not finished. Copy from that one, or to an "
                "empty target."
            )
        return marks

    @abstractmethod
    def _is_begun(self) -> bool: ...

    def mark(self, session: int, mark: bytes) -> None:
        self.connection.execute(
            "INSERT INTO copied VALUES (?, ?) ON CONFLICT (session) DO UPDATE SET mark = excluded.mark",
            (session, mark),
        )

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        if table.name in _GROUPED:
            self.group().insert(table.name, len(table.columns), list(chain.from_iterable(rows)))
        elif table.name == "search":
            self.group().insert_texts(list(chain.from_iterable(rows)))
        else:
            for page in _pages(rows):
                self.connection.execute(
                    _insert_sql(table.name, table.columns, len(page)), list(chain.from_iterable(page))
                )

    def clear(self, span: RowRange) -> None:
        _, key = self._columns(span.table)
        self.connection.execute(
            f"DELETE FROM {span.table.name} WHERE {key} > ? AND {key} <= ?", (span.after, span.until)
        )

    def delete(self, table: Table, keys: Sequence[Value]) -> None:
        _, name = self._columns(table)
        for key in keys:
            self.connection.execute(f"DELETE FROM {table.name} WHERE {name} = ?", (key,))


def not_empty(name: str) -> CopyFailed:
    return CopyFailed(f"{name} is not empty. Choose an empty target; nothing was changed.")


def _pages(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), PAGE_ROWS):
        yield rows[start : start + PAGE_ROWS]


@cache
def _insert_sql(table: str, columns: tuple[str, ...], rows: int) -> str:
    row = f"({', '.join('?' * len(columns))})"
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([row] * rows)}"


def check_version(name: str, found: int, known: int) -> None:
    """Only a log of this program's version is copied."""
    if found > known:
        raise StoreUnavailable(
            f"{name} was written by a newer everyagent (its version is {found}, this program knows {known}). Update "
            "everyagent."
        )
    if found < known:
        raise StoreUnavailable(
            f"{name} was written by an older everyagent (its version is {found}, this program has {known}). Start the "
            "daemon once with this program, so that it brings the log up to date."
        )
