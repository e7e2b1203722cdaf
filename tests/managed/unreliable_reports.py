"""Runs `everyagent`, in which reads of the log fail where they are made for reports of a roster's threads.

Of each kind of read, the first fails, the second, the fourth and so on. A page has one event.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from everyagent.cli.main import main
from everyagent.errors import StoreUnavailable
from everyagent.log.chunk import EventChunk
from everyagent.managed import managed
from everyagent.managed.roster import reports as thread_reports
from everyagent.managed.roster import thread_reader
from everyagent.sessions import Sessions

T = TypeVar("T")
_reads: Counter[str] = Counter()


def _read(kind: str) -> None:
    _reads[kind] += 1
    if _reads[kind].bit_count() == 1:
        raise StoreUnavailable(f"The read {_reads[kind]} of a {kind} fails in this test.")


def _unreliable(kind: str, read: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    async def failing(*given: object) -> T:
        _read(kind)
        return await read(*given)

    return failing


class _Tail(AsyncIterator[EventChunk | None]):
    def __init__(self, tail: AsyncIterator[EventChunk | None]) -> None:
        self._tail = tail

    async def __anext__(self) -> EventChunk | None:
        _read("tail")
        return await anext(self._tail)


class _Part:
    """Another object with some attributes replaced."""

    def __init__(self, of: object, **replaced: object) -> None:
        self._of = of
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> object:
        return getattr(self._of, name)


def reports(sessions: Sessions) -> thread_reports.ThreadReports:
    projected = sessions.projected
    log = _Part(projected.log, projection=_unreliable("projection", projected.log.projection))

    def tail(session: int, after: int) -> _Tail:
        return _Tail(projected.tail(session, after))

    unreliable = _Part(
        projected,
        log=log,
        event_page=_unreliable("page", projected.event_page),
        tail=tail,
    )
    return thread_reports.ThreadReports(_Part(sessions, projected=unreliable))  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    thread_reader.PAGE = 1  # pyright: ignore[reportConstantRedefinition]
    thread_reports.FIRST_PAUSE = 0.01  # pyright: ignore[reportConstantRedefinition]
    managed.ThreadReports = reports  # pyright: ignore[reportAttributeAccessIssue]
    main()
