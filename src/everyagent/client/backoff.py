"""How long to wait before trying again, and when to stop trying. No I/O, and the clock is passed in."""

import random
import time
from collections.abc import Callable

FIRST = 0.05
MOST = 5.0


class Backoff:
    """Waits grow from 0.05 s to 5 s, each by chance up to half shorter, so that many clients do not come at once.

    Before the first success there are only `attempts` tries: a daemon that was never there is an error soon.
    After one, `patience` seconds without another are waited out.
    """

    def __init__(
        self,
        *,
        attempts: int = 5,
        patience: float = 300.0,
        now: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._attempts = attempts
        self._patience = patience
        self._now = now
        self._chance = chance
        self._failures = 0
        self._succeeded_at: float | None = None

    def succeeded(self) -> None:
        self._failures = 0
        self._succeeded_at = self._now()

    def failed(self) -> float | None:
        """Seconds to wait before the next try; None: give up."""
        self._failures += 1
        if self._succeeded_at is None:
            if self._failures >= self._attempts:
                return None
        elif self._now() - self._succeeded_at > self._patience:
            return None
        wait = min(MOST, FIRST * 2 ** min(self._failures - 1, 10))
        return wait * (1 - self._chance() / 2)
