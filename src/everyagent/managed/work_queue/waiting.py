"""Polls that wait for work, which this daemon wakes when it queues some."""

from collections.abc import Generator
from contextlib import contextmanager

import anyio


class WaitingPolls:
    def __init__(self) -> None:
        self._waiting: dict[str, set[anyio.Event]] = {}  # by environment

    @contextmanager
    def one(self, environment_id: str) -> Generator[anyio.Event]:
        """An event that is set when work of the environment is queued."""
        event = anyio.Event()
        waiting = self._waiting.setdefault(environment_id, set())
        waiting.add(event)
        try:
            yield event
        finally:
            waiting.discard(event)
            if not waiting and self._waiting.get(environment_id) is waiting:
                del self._waiting[environment_id]

    def wake(self, environment_id: str) -> None:
        for event in self._waiting.get(environment_id, ()):
            event.set()
