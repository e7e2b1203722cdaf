"""Retries of the log's background work with longer and longer pauses, logged once per change of state."""

import time

from everyagent.logs import get_logger

FIRST_SECONDS = 0.25
LONGEST_SECONDS = 30.0

logger = get_logger(__name__)


class Retries:
    """Remembers whether `task` failed last time. Used by the thread that runs the task; `due` may be read by others."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._pause = 0.0
        self._next_try = 0.0

    @property
    def failing(self) -> bool:
        return self._pause > 0

    @property
    def due(self) -> float:
        """Seconds until the task may be tried again; 0 for now."""
        return max(0.0, self._next_try - time.monotonic()) if self._pause else 0.0

    def failed(self, error: Exception) -> None:
        if not self._pause:
            logger.error(f"{self._task} failed; retrying until it works", error=str(error))
        self._pause = min(2 * self._pause or FIRST_SECONDS, LONGEST_SECONDS)
        self._next_try = time.monotonic() + self._pause

    def succeeded(self) -> None:
        if self._pause:
            logger.info(f"{self._task} works again")
            self._pause = 0.0
