"""Follows an event stream across reconnects: tracks the position, drops repeats, notices gaps.

Does no I/O: the clients open the connections and wait for the given time.
"""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from everyagent.client.backoff import RetryDelays
from everyagent.client.call import ApiCall, params
from everyagent.client.errors import ClientError, Unreachable, api_error
from everyagent.client.event_codec import AnyEvent, decode_any_event
from everyagent.client.sse import SseMessage, SseParser

#: Statuses of a daemon that is overloaded or shutting down: the request is retried.
RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504, 507})


class StreamPosition(Protocol):
    """A position in an event stream."""

    def begin(self, call: ApiCall[None]) -> tuple[dict[str, str], dict[str, str]]:
        """Query parameters and headers that start the stream just after this position."""
        ...

    def take(self, message: SseMessage, event: AnyEvent) -> bool:
        """Advance to the event; False if it was seen before. Raises `Gap` if an event before it is missing."""
        ...

    def ends(self, event: AnyEvent) -> bool:
        """Whether the stream ends with this event."""
        ...


class Gap(Exception):
    """The connection skipped an event; the client reads again from the last position."""


class SessionStreamPosition:
    """The position by sequence number. Without a type filter, a missing sequence is a gap."""

    def __init__(self, offset: int, *, filtered: bool) -> None:
        self.sequence = offset
        self._filtered = filtered

    def begin(self, call: ApiCall[None]) -> tuple[dict[str, str], dict[str, str]]:
        return call.params | params(offset=self.sequence), {}

    def take(self, message: SseMessage, event: AnyEvent) -> bool:
        if event.sequence <= self.sequence:
            return False
        if not self._filtered and event.sequence != self.sequence + 1:
            raise Gap
        self.sequence = event.sequence
        return True

    def ends(self, event: AnyEvent) -> bool:
        return event.type == "session.ended"


class FeedStreamPosition:
    """The position by SSE id; None starts with the next event."""

    def __init__(self, last_id: str | None) -> None:
        self.last_id = last_id

    def begin(self, call: ApiCall[None]) -> tuple[dict[str, str], dict[str, str]]:
        return call.params, {} if self.last_id is None else {"last-event-id": self.last_id}

    def take(self, message: SseMessage, event: AnyEvent) -> bool:
        self.last_id = message.id
        return True

    def ends(self, event: AnyEvent) -> bool:
        return False


class Tail:
    """The caller connects with `begin`, reports what happens on the connection, and yields events until `done`."""

    def __init__(self, call: ApiCall[None], position: StreamPosition, backoff: RetryDelays, url: str) -> None:
        self.call = call
        self.done = False
        self._position = position
        self._backoff = backoff
        self._url = url
        self._parser = SseParser()
        self._gaps = 0

    def begin(self) -> tuple[dict[str, str], dict[str, str]]:
        self._parser = SseParser()
        return self._position.begin(self.call)

    def refused(self, status: int, body: bytes) -> float:
        """Handle a response other than a stream. Returns seconds to wait; sets `done` at 204; raises other errors."""
        if status == 204:
            self.done = True
            return 0.0
        if status not in RETRIED_STATUSES:
            raise api_error(status, body)
        return self._wait(api_error(status, body))

    def received(self, chunk: bytes) -> Iterator[AnyEvent]:
        """The new events in a chunk. After a `Gap`, call `skipped` and connect again."""
        self._backoff.succeeded()
        for message in self._parser.feed(chunk):
            event = _event(message)
            if event is None or not self._position.take(message, event):
                continue
            self._gaps = 0
            self.done = self._position.ends(event)
            yield event

    def lost(self, reason: str) -> float:
        """Handle a lost or failed connection. Returns seconds to wait before the next."""
        return self._wait(Unreachable(self._url, reason))

    def skipped(self) -> float:
        """Handle a missing event. Returns seconds to wait; raises if it is missing for the third time."""
        self._gaps += 1
        if self._gaps >= 3:
            raise ClientError(f"The event stream of {self._url} skips events, even when read again: {self.call.path}")
        return self.lost("an event was missing")

    def _wait(self, error: ClientError) -> float:
        seconds = self._backoff.failed()
        if seconds is None:
            raise error
        return seconds


def _event(message: SseMessage) -> AnyEvent | None:
    """The event in a message, or None for a kind of message that this version does not know."""
    if message.event != "message":
        return None
    try:
        return decode_any_event(message.data)
    except msgspec.MsgspecError:
        return None
