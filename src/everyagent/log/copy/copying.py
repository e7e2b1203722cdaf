"""Copies a log: sessions one by one, then all other tables. Each row is read back and compared.

A copy that was interrupted is taken up by running it again: rows that are there are compared, not written. A session
whose row has not changed since it was copied is not read again.
"""

import hashlib
from typing import NamedTuple, Protocol, cast

import msgspec

from everyagent.errors import EveryagentError
from everyagent.log.copy.ends import PAGE_ROWS, CopyFailed, Source, Target
from everyagent.log.copy.tables import (
    CHANGING,
    END_OF_KEYS,
    GROWING,
    NUMBERED,
    RECORDS,
    REPLACED,
    SESSIONS,
    VIEWS,
    RowRange,
    Table,
    spans_of,
)
from everyagent.log.sql.connection import Row


class Report(Protocol):
    """Called with the part of the log that is being copied, how much of it is done, and how much there is."""

    def __call__(self, part: str, done: int, total: int) -> None: ...


class Copied(NamedTuple):
    """`finished` is False if the source was in use, so that it may have changed since."""

    finished: bool
    sessions: int
    events: int
    blobs: int


def copy_log(source: Source, target: Target, report: Report) -> Copied:
    """Raises `CopyFailed`. Only a source that no daemon uses is copied to the end."""
    try:
        return _Copy(source, target, report).run(last=source.lock())
    except (*source.errors, *target.errors) as error:
        raise CopyFailed(f"The copy stopped: {str(error).strip()}. Run the same command again to go on.") from error


class _Copy:
    def __init__(self, source: Source, target: Target, report: Report) -> None:
        self._source = source
        self._target = target
        self._report = report
        self._marks = target.begin(source)

    def run(self, *, last: bool) -> Copied:
        blobs = self._copy_blobs()
        sessions, events = self._copy_sessions()
        tables = (*GROWING, *CHANGING) if last else GROWING
        for number, table in enumerate(tables):
            self._report("tables", number, len(tables))
            whole = RowRange(table, -1, END_OF_KEYS)
            if table is RECORDS:  # two records may have exchanged their unique keys
                self._copy(whole, insert=False)
            self._copy(whole)
        if last:
            self._finish()
        return Copied(last, sessions, events, blobs)

    def _copy_blobs(self) -> int:
        total, number = self._source.blob_count(), 0
        for number, digest in enumerate(self._source.digests(), 1):
            self._report("blobs", number - 1, max(number, total))
            if self._target.holds_blob(digest):
                continue
            try:
                with self._source.open_blob(digest) as file:
                    self._target.store_blob(digest, file)
            except (OSError, EveryagentError) as error:
                if self._source.connection.execute("SELECT 1 FROM blobs WHERE digest = ?", (digest,)).fetchone():
                    raise CopyFailed(f"The content {digest.hex()} could not be copied: {error}") from error
        return number

    def _copy_sessions(self) -> tuple[int, int]:
        """The number of sessions, and of their events."""
        total, done, events, after = self._source.count(), 0, 0, 0
        seen: set[int] = set()
        while page := self._source.page(RowRange(SESSIONS, after, END_OF_KEYS), PAGE_ROWS):
            for row in page:
                after = cast("int", row[0])
                self._report("sessions", done, total)
                events += self._copy_session(after, row)
                seen.add(after)
                done += 1
        for number in self._marks.keys() - seen:
            self._remove_session(number)
        return done, events

    def _copy_session(self, number: int, row: Row) -> int:
        """The mark is made of rows that were read before the events: it is never newer than they are."""
        view = self._source.page(RowRange(VIEWS, number - 1, number))
        mark = hashlib.sha256(msgspec.msgpack.encode([row, *view])).digest()
        if self._marks.get(number) != mark:
            for span in spans_of(number):
                self._copy(span)
            self._target.mark(number, mark)
            self._marks[number] = mark
        return cast("int", row[SESSIONS.columns.index("last_sequence")])

    def _remove_session(self, number: int) -> None:
        """It was deleted after it was copied."""
        with self._target.connection as connection:
            for span in spans_of(number):
                self._target.clear(span)
            connection.execute("DELETE FROM copied WHERE session = ?", (number,))

    def _copy(self, span: RowRange, *, insert: bool = True) -> None:
        """Makes the rows of the target those of the source."""
        table, after, until = span
        while True:
            rows = [self._target.fitting(row) for row in self._source.page(RowRange(table, after, until), PAGE_ROWS)]
            end = cast("int", rows[-1][0]) if len(rows) == PAGE_ROWS else until
            part = RowRange(table, after, end)
            held = self._target.page(part)
            if held != rows:
                self._replace(table, held, rows if insert else [row for row in held if row in rows])
                if insert and self._target.page(part) != rows:
                    raise CopyFailed(f"Rows of {table.name} in {self._target.name} are not what was written.")
            if end == until:
                return
            after = end

    def _replace(self, table: Table, held: list[Row], rows: list[Row]) -> None:
        wanted = {row[0]: row for row in rows}
        kept = {row[0] for row in held if wanted.get(row[0]) == row}
        with self._target.connection:
            self._target.delete(table, [row[0] for row in held if row[0] not in kept])
            self._target.insert(table, [row for row in rows if row[0] not in kept])

    def _finish(self) -> None:
        """In one transaction, so that what refers to each other changes together."""
        source, target = self._source, self._target
        with target.connection as connection:
            for table in REPLACED:
                connection.execute(f"DELETE FROM {table.name}")
                written = 0
                for page in source.all_rows(table):
                    rows = [target.fitting(row) for row in page]
                    target.insert(table, rows)
                    written += _total(rows)
                if sum(_total(page) for page in target.all_rows(table)) != written:
                    raise CopyFailed(f"Rows of {table.name} in {target.name} are not what was written.")
            for name in NUMBERED:
                target.set_last_number(name, source.last_number(name))
            target.set_last_commit(source.last_commit())
            connection.execute("DROP TABLE copied")
        target.finish()


def _total(rows: list[Row]) -> int:
    """The same for the same rows in any order: each database has its own."""
    return sum(int.from_bytes(hashlib.sha256(msgspec.msgpack.encode(row)).digest(), "big") for row in rows)
