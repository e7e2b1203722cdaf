"""The clock, as a value that tests can replace."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def micros(self) -> int:
        """Microseconds since 1970, UTC. May go backwards; callers that need order take the maximum."""
        ...


class SystemClock:
    def micros(self) -> int:
        return time.time_ns() // 1000


def rfc3339(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def millis(time: str) -> int:
    """Milliseconds since 1970 of a time that `rfc3339` wrote."""
    return round(datetime.fromisoformat(time).timestamp() * 1000)
