"""Which types of events a flow saw."""

from collections.abc import Iterable, Iterator

from loose import Loose

EVENTS: set[str] = set()


def saw(events: Iterable[Loose]) -> Iterator[Loose]:
    """The events as they come, remembered by type."""
    for event in events:
        EVENTS.add(str(event.type))
        yield event
