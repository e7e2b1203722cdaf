"""The limit on requests that are handled at a time. Each holds its body, and may hold a thread or a transaction."""

from collections.abc import Collection, Generator
from contextlib import contextmanager

from everyagent.errors import TooManyRequests


class RequestsInFlight:
    """`most` of 0 is no limit. The paths of `always` are answered in any case: they say whether the daemon is well."""

    def __init__(self, most: int, *, always: Collection[str] = ()) -> None:
        self._most = most
        self._always = always
        self._count = 0

    @contextmanager
    def counted(self, path: str) -> Generator[None]:
        """Raises `TooManyRequests`, and then does not count it."""
        if 0 < self._most <= self._count and path not in self._always:
            raise TooManyRequests(
                f"The daemon handles {self._most} requests, its limit (`--max-requests`). Nothing was done. Try again.",
                limit=self._most,
            )
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
