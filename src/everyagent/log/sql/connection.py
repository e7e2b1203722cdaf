"""Typed protocol of a database connection, as far as SQL that runs on every database uses it."""

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Protocol, TypeAlias

Value: TypeAlias = int | float | str | bytes | None
Row: TypeAlias = tuple[Value, ...]


class Cursor(Protocol):
    def __iter__(self) -> Iterator[Row]: ...
    def fetchone(self) -> Row | None: ...
    def fetchall(self) -> list[Row]: ...
    def close(self) -> None: ...


class Connection(Protocol):
    """A `with` block is a transaction, or a savepoint inside of one. Parameters are `?`, or `?1`, `?2` and so on."""

    def __enter__(self) -> "Connection": ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...

    def execute(self, statements: str, bindings: Sequence[Value] | None = None) -> Cursor: ...
