"""The interface of an order rule: it takes each event once, in order, and yields violations as sentences."""

from collections.abc import Iterator
from typing import ClassVar, Protocol, TypeAlias

from everyagent.model.decoding import UnknownData
from everyagent.model.events import Envelope, Event

AnyEvent: TypeAlias = Event | Envelope[UnknownData]


class Rule(Protocol):
    name: ClassVar[str]

    def see(self, event: AnyEvent) -> Iterator[str]: ...

    def end(self) -> Iterator[str]:
        """The violations of a session that ends here: what is still open."""
        ...


class Momentary:
    """A rule that leaves nothing open for a later event."""

    def end(self) -> Iterator[str]:
        yield from ()
