"""Retry delays with exponential backoff and jitter. Does no I/O; the clock is passed in."""

import random
import time
from collections.abc import Callable

FIRST = 0.05
LONGEST = 5.0


class RetryDelays:
    """Delays grow from 0.05 s to 5 s, each randomly shortened by up to half, so that clients do not retry in step.

    Before the first success, it gives up after `attempts` failures. After that, it gives up when the last success is
    more than `patience` seconds ago.
    """

    def __init__(
        self,
        *,
        attempts: int = 5,
        patience: float = 300.0,
        now: Callable[[], float] = time.monotonic,
        random_fraction: Callable[[], float] = random.random,
    ) -> None:
        self._attempts = attempts
        self._patience = patience
        self._now = now
        self._random_fraction = random_fraction
        self._failures = 0
        self._succeeded_at: float | None = None

    def succeeded(self) -> None:
        self._failures = 0
        self._succeeded_at = self._now()

    def failed(self) -> float | None:
        """Seconds to wait before the next try, or None to give up."""
        self._failures += 1
        if self._succeeded_at is None:
            if self._failures >= self._attempts:
                return None
        elif self._now() - self._succeeded_at > self._patience:
            return None
        wait = min(LONGEST, FIRST * 2 ** min(self._failures - 1, 10))
        return wait * (1 - self._random_fraction() / 2)
