"""Records the types of events that a flow receives."""

from collections.abc import Iterable, Iterator

from loose import Loose

EVENTS: set[str] = set()


def saw(events: Iterable[Loose]) -> Iterator[Loose]:
    """Yields the events, and records their types."""
    for event in events:
        EVENTS.add(str(event.type))
        yield event
