"""Following a stream of events over connections that break: where we are, what is new, what to do next.

A pure state machine; the clients open connections and wait as it says.
"""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from everyagent.client.backoff import Backoff
from everyagent.client.call import ApiCall, params
from everyagent.client.errors import ClientError, Unreachable, api_error
from everyagent.client.event_codec import AnyEvent, read_event
from everyagent.client.sse import SseMessage, SseParser

#: A daemon in trouble or on its way down: worth another try.
PASSING = frozenset({429, 500, 502, 503, 504, 507})


class StreamPosition(Protocol):
    """A place in a stream."""

    def begin(self, call: ApiCall[None]) -> tuple[dict[str, str], dict[str, str]]:
        """Query parameters and headers that start the stream just after this place."""
        ...

    def take(self, message: SseMessage, event: AnyEvent) -> bool:
        """Move on to the event; False if it was seen before. Raises `Gap` if one before it is missing."""
        ...

    def ends(self, event: AnyEvent) -> bool:
        """Nothing can follow this event."""
        ...


class Gap(Exception):
    """The connection skipped an event; reading again from the cursor gets it back."""


class SessionPosition:
    """By sequence. Without a type filter every sequence is expected, so that a gap is noticed."""

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


class FeedPosition:
    """By the ids the daemon gives; from now on if there is none yet."""

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
    """Connect with `begin`, tell it what happened, hand on what `received` yields, until `done`."""

    def __init__(self, call: ApiCall[None], cursor: StreamPosition, backoff: Backoff, url: str) -> None:
        self.call = call
        self.done = False
        self._cursor = cursor
        self._backoff = backoff
        self._url = url
        self._parser = SseParser()
        self._gaps = 0

    def begin(self) -> tuple[dict[str, str], dict[str, str]]:
        self._parser = SseParser()
        return self._cursor.begin(self.call)

    def refused(self, status: int, body: bytes) -> float:
        """An answer other than a stream: the end (204), seconds to wait, or an error."""
        if status == 204:
            self.done = True
            return 0.0
        if status not in PASSING:
            raise api_error(status, body)
        return self._wait(api_error(status, body))

    def received(self, chunk: bytes) -> Iterator[AnyEvent]:
        """The new events in it. Raises `Gap`: then call `skipped`, and connect again."""
        self._backoff.succeeded()
        for message in self._parser.feed(chunk):
            event = _event(message)
            if event is None or not self._cursor.take(message, event):
                continue
            self._gaps = 0
            self.done = self._cursor.ends(event)
            yield event

    def lost(self, reason: str) -> float:
        """The connection ended or never was; seconds to wait before the next."""
        return self._wait(Unreachable(self._url, reason))

    def skipped(self) -> float:
        """An event was missing. Seconds to wait, unless it is still missing at the third look."""
        self._gaps += 1
        if self._gaps >= 3:
            raise ClientError(f"The event stream of {self._url} skips events, also when read again: {self.call.path}")
        return self.lost("an event was missing")

    def _wait(self, error: ClientError) -> float:
        seconds = self._backoff.failed()
        if seconds is None:
            raise error
        return seconds


def _event(message: SseMessage) -> AnyEvent | None:
    """None for a message that is no event of ours, such as a newer daemon might send."""
    if message.event != "message":
        return None
    try:
        return read_event(message.data)
    except msgspec.MsgspecError:
        return None
