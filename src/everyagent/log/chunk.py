"""Consecutive events of one session, as readers share them."""

from collections.abc import Sequence

from everyagent.log.log import StoredEvent


class EventChunk:
    """`commit` is 0 where the reader has no use for it. `size` is what its bodies weigh."""

    __slots__ = ("__weakref__", "_sse", "commit", "events", "first", "last", "session", "size")

    def __init__(self, session: int, events: Sequence[StoredEvent], commit: int = 0) -> None:
        self.session = session
        self.events: Sequence[StoredEvent] = events
        self.first = events[0].sequence
        self.last = events[-1].sequence
        self.commit = commit
        self.size = sum(len(event.body) for event in events)
        self._sse: bytes | None = None

    def sse(self) -> bytes:
        if self._sse is None:
            self._sse = b"".join(
                [b"id: %d\nevent: message\ndata: %b\n\n" % (event.sequence, event.body) for event in self.events]
            )
        return self._sse

    @classmethod
    def joined(cls, pieces: Sequence["EventChunk"]) -> "EventChunk":
        """Pieces that follow each other, as one; their SSE bytes are not made again."""
        whole = cls(pieces[0].session, [event for piece in pieces for event in piece.events], pieces[-1].commit)
        whole._sse = b"".join([piece.sse() for piece in pieces])
        return whole
