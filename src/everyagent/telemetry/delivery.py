"""Delivers spans to a collector: waits for one that is away, and leaves out spans that it does not take."""

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

import anyio
from anyio import to_thread

from everyagent.logs import get_logger
from everyagent.telemetry.otlp import Outcome
from everyagent.telemetry.span import Span

#: So often are spans sent that the collector answers with an error, about six minutes in all.
TRIES: Final = 10
_LONGEST_PAUSE: Final = 60.0
#: Between two log lines on the same subject.
_QUIET_SECONDS: Final = 600.0
logger = get_logger(__name__)


class Sender(Protocol):
    def send(self, spans: Sequence[Span]) -> tuple[Outcome, int | None]: ...
    def close(self) -> None: ...


class Delivery:
    """`left_out` counts the spans that the collector did not take."""

    def __init__(self, sender: Sender, sleep: Callable[[float], Awaitable[None]] = anyio.sleep) -> None:
        self._sender = sender
        self._sleep = sleep
        self._lines: dict[str, float] = {}
        self.left_out = 0

    async def send(self, spans: Sequence[Span]) -> None:
        """Returns when the collector has taken the spans, or they are left out."""
        attempts = failures = 0
        while True:
            outcome, status = await to_thread.run_sync(self._sender.send, spans, abandon_on_cancel=True)
            if outcome == "sent":
                if attempts and self._lines:
                    logger.info("the collector of telemetry takes traces again")
                    self._lines.clear()
                return
            attempts += 1
            failures += outcome == "failed"
            if outcome == "refused" or failures >= TRIES:
                self.left_out += len(spans)
                self._warn("the collector does not take a trace, which is left out", status)
                return
            self._warn("the collector of telemetry is away, and is tried again", status)
            await self._sleep(min(_LONGEST_PAUSE, 2.0 ** min(attempts - 1, 10)) * random.uniform(0.5, 1.0))

    def _warn(self, message: str, status: int | None) -> None:
        now = time.monotonic()
        if now - self._lines.get(message, -_QUIET_SECONDS) >= _QUIET_SECONDS:
            self._lines[message] = now
            logger.warning(message, status=status, spans_left_out=self.left_out)
