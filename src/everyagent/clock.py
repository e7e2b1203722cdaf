"""The clock, as a value that tests can replace."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def micros(self) -> int:
        """Microseconds since 1970, UTC. May go backwards; callers that need order take the maximum."""
        ...


class SystemClock:
    def micros(self) -> int:
        return time.time_ns() // 1000


class ClusterClock:
    """The database's time, so that all nodes of a cluster have the same, whatever the clocks of their machines say.

    Until the first `set` it goes on from the machine's clock. From any thread.
    """

    def __init__(self, machine: Clock | None = None, *, elapsed: Callable[[], float] = time.monotonic) -> None:
        """`elapsed` are seconds of a clock that is never set."""
        self._elapsed = elapsed
        self._known = ((machine or SystemClock()).micros(), elapsed())

    def set(self, micros: int, *, within: float = 0.0) -> None:
        """It was so late on the database at some moment of the last `within` seconds."""
        earliest, latest = micros, micros + int(within * 1e6)
        self._known = (min(max(self.micros(), earliest), latest), self._elapsed())

    def micros(self) -> int:
        micros, at = self._known
        return micros + int((self._elapsed() - at) * 1e6)


def rfc3339(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def millis(time: str) -> int:
    """Milliseconds since 1970 of a time that `rfc3339` wrote."""
    return round(datetime.fromisoformat(time).timestamp() * 1000)
