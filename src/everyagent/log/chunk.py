"""Consecutive events of one session, shared by all readers at the same place."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from everyagent.log.log import StoredEvent

T = TypeVar("T")

#: As many derived values are kept with a chunk: readers with other filters than the first ones make their own.
KEPT_VALUES = 4


class EventChunk:
    """`first` and `last` are sequences; `size` is the length of all bodies.

    `commit` is the chunk's place in the feed of all sessions, 0 if it is not read from there.
    """

    __slots__ = ("__weakref__", "_derived", "_pieces", "commit", "events", "first", "last", "session", "size")

    def __init__(self, session: int, events: Sequence[StoredEvent], commit: int = 0) -> None:
        self.session = session
        self.events: Sequence[StoredEvent] = events
        self.first = events[0].sequence
        self.last = events[-1].sequence
        self.commit = commit
        self.size = sum([len(event.body) for event in events])
        self._pieces: Sequence[EventChunk] = ()
        self._derived: dict[object, object] | None = None  # most chunks are never read

    def derived(self, make: Callable[["EventChunk"], T], join: Callable[[list[T]], T]) -> T:
        """`make(chunk)`, called once for all readers and kept with the chunk, up to `KEPT_VALUES`.

        A chunk that was joined from others joins what they have, so `join` over consecutive chunks must be the same
        as `make` of the whole.
        """
        known = self._derived
        if known is None:
            known = self._derived = {}
        elif make in known:
            return known[make]  # pyright: ignore[reportReturnType]
        pieces, self._pieces = self._pieces, ()  # kept only until they are used: a slow reader may hold a chunk long
        found = join([piece.derived(make, join) for piece in pieces]) if pieces else make(self)
        if len(known) < KEPT_VALUES:
            known[make] = found
        return found

    def split(self, size: int) -> Sequence["EventChunk"]:
        """Consecutive chunks of about `size` bytes, at least one event each."""
        if self.size <= size or len(self.events) == 1:
            return (self,)
        pieces: list[EventChunk] = []
        step = max(1, len(self.events) * size // self.size)  # most events of a chunk are about as long
        for start in range(0, len(self.events), step):
            piece = EventChunk(self.session, self.events[start : start + step], self.commit)
            pieces += piece.split(size) if piece.size > size * 5 // 4 else (piece,)
        return pieces

    @classmethod
    def joined(cls, pieces: Sequence["EventChunk"]) -> "EventChunk":
        """Chunks that follow each other, as one."""
        whole = cls(pieces[0].session, [event for piece in pieces for event in piece.events], pieces[-1].commit)
        whole._pieces = pieces
        return whole
