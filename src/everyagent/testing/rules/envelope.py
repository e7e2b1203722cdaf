"""Order rules of the envelope: sequence, id, time, source and raw (rule i)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import ClassVar

from everyagent.testing.rules.rule import AnyEvent, Momentary


class Sequence(Momentary):
    """Sequence numbers start at 1, without gap or repeat, in one session."""

    name: ClassVar[str] = "sequence"

    def __init__(self) -> None:
        self._last = 0
        self._session: str | None = None

    def see(self, event: AnyEvent) -> Iterator[str]:
        if event.sequence != self._last + 1:
            yield f"sequence {event.sequence} follows {self._last}"
        self._last = event.sequence
        if self._session is None:
            self._session = event.session_id
        elif event.session_id != self._session:
            yield f"an event of session {event.session_id} among those of {self._session}"


class EventId(Momentary):
    """Event ids increase, so none comes twice."""

    name: ClassVar[str] = "event_id"

    def __init__(self) -> None:
        self._last = ""

    def see(self, event: AnyEvent) -> Iterator[str]:
        if event.event_id <= self._last:
            yield f"event id {event.event_id} is not greater than {self._last} before it"
        self._last = event.event_id


class Time(Momentary):
    """Time is RFC 3339 in UTC and never decreases."""

    name: ClassVar[str] = "time"

    def __init__(self) -> None:
        self._last = datetime.min.replace(tzinfo=UTC)

    def see(self, event: AnyEvent) -> Iterator[str]:
        try:
            time = datetime.fromisoformat(event.time)
        except ValueError:
            yield f"{event.time!r} is no time"
            return
        if not event.time.endswith("Z"):
            yield f"{event.time} is not in UTC"
            return
        if time < self._last:
            yield f"{event.time} is earlier than the event before it"
        self._last = time


class SyntheticFlag(Momentary):
    """`synthetic` is true exactly if `source` is the daemon."""

    name: ClassVar[str] = "synthetic"

    def see(self, event: AnyEvent) -> Iterator[str]:
        if event.synthetic != (event.source == "daemon"):
            yield f"synthetic is {event.synthetic} and source is {event.source}"


class RuleI(Momentary):
    """`raw` is null unless it was asked for; then no event lacks it."""

    name: ClassVar[str] = "i"

    def __init__(self, *, include_raw: bool) -> None:
        self._include_raw = include_raw

    def see(self, event: AnyEvent) -> Iterator[str]:
        if self._include_raw and event.raw is None:
            yield f"{event.type} has no raw, though it was asked for"
        if not self._include_raw and event.raw is not None:
            yield f"{event.type} has raw, though it was not asked for"
