"""Logs that the daemon cannot be reached: at once, then at growing intervals, and when it can be reached again."""

import time
from collections.abc import Callable

from everyagent.logs import get_logger

_FIRST_INTERVAL, _LONGEST_INTERVAL = 30.0, 3600.0
logger = get_logger(__name__)


class Outage:
    """Shared by the connection and all callbacks of a runner, so that an outage is logged once for all of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: float | None = None
        self._next = 0.0
        self._interval = _FIRST_INTERVAL

    def failed(self, reason: str) -> None:
        now = self._clock()
        if self._since is None:
            self._since, self._interval = now, _FIRST_INTERVAL
            logger.warning("the connection to the daemon is lost; agents go on", error=reason)
        elif now < self._next:
            return
        else:
            seconds = round(now - self._since)
            logger.warning("the daemon cannot be reached yet; agents go on", error=reason, seconds=seconds)
            self._interval = min(2 * self._interval, _LONGEST_INTERVAL)
        self._next = now + self._interval

    def over(self) -> None:
        if self._since is not None:
            seconds = round(self._clock() - self._since, 1)
            self._since = None
            logger.info("the connection to the daemon is back", seconds=seconds)
