"""What a rule is: it sees each event once, in order, and says in a sentence what was wrong."""

from collections.abc import Iterator
from typing import ClassVar, Protocol, TypeAlias

from everyagent.model.decoding import UnknownData
from everyagent.model.events import Envelope, Event

AnyEvent: TypeAlias = Event | Envelope[UnknownData]


class Rule(Protocol):
    name: ClassVar[str]

    def see(self, event: AnyEvent) -> Iterator[str]: ...

    def end(self) -> Iterator[str]:
        """The session is at rest; what must have happened by now and has not?"""
        ...


class Momentary:
    """A rule that never waits for a later event."""

    def end(self) -> Iterator[str]:
        yield from ()
