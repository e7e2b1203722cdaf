"""A psycopg connection behind the `Connection` protocol of `log/sql/`: numbered parameters, binary results."""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from types import TracebackType
from typing import LiteralString, TypeAlias, cast

import psycopg
from psycopg.types.numeric import Int8BinaryDumper
from psycopg.types.string import StrDumper

from everyagent.log.sql.connection import Cursor, Row, Value

Raw: TypeAlias = psycopg.Connection[Row]

_PARAMETER = re.compile(r"\?(\d*)")


def encoded(text: str) -> bytes:
    """PostgreSQL's text has no NUL, and UTF-8 no lone surrogate: each becomes a replacement character."""
    return text.encode("utf-8", "replace").replace(b"\0", b"\xef\xbf\xbd")


class TextDumper(StrDumper):
    def dump(self, obj: str) -> bytes:
        return encoded(obj)


class Connection:
    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self._open: list[AbstractContextManager[object]] = []
        raw.adapters.register_dumper(int, Int8BinaryDumper)
        raw.adapters.register_dumper(str, TextDumper)

    def __enter__(self) -> "Connection":
        block = self.raw.transaction()
        block.__enter__()
        self._open.append(block)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._open.pop().__exit__(kind, error, trace)

    def execute(self, statements: str, bindings: Sequence[Value | Sequence[Value]] | None = None) -> Cursor:
        """A list among the bindings is an array."""
        return self.raw.execute(_numbered(statements), bindings or None, binary=True)

    def copy(self, table: str, types: Sequence[str], rows: list[Value]) -> None:
        """Inserts many rows, all of their values in one list."""
        cursor = self.raw.cursor()
        with cursor.copy(cast("LiteralString", f"COPY {table} FROM STDIN (FORMAT BINARY)")) as copy:
            copy.set_types(types)
            for row in zip(*[iter(rows)] * len(types), strict=True):
                copy.write_row(row)

    def commit(self) -> None:
        self.raw.execute("COMMIT", prepare=False)

    @property
    def lost(self) -> bool:
        """Nothing more can be done with it."""
        return self.raw.closed or self.raw.broken

    def close(self) -> None:
        self.raw.close()


@cache
def _numbered(statement: str) -> LiteralString:
    """`?` and `?1` as PostgreSQL has them: `$1`."""
    count = 0

    def parameter(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"${match[1] or count}"

    return cast("LiteralString", _PARAMETER.sub(parameter, statement))
