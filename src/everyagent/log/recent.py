"""The newest chunks of all sessions, in memory under one budget, for readers that are close to the head."""

from collections import deque
from collections.abc import Sequence
from weakref import ReferenceType, ref

from everyagent.log.chunk import EventChunk

#: Readers get events in pieces of about this size: a reader that stalls holds one piece. Small chunks are joined,
#: large ones are split.
PIECE_BYTES = 32 << 10
#: Memory that an event takes in addition to its body, in bytes.
_EVENT_OVERHEAD = 200


class _Ring:
    """The kept chunks of one session by the sequence before them, its head, and the piece joined last, while in use."""

    __slots__ = ("chunks", "head", "joined")

    def __init__(self) -> None:
        self.chunks: dict[int, EventChunk] = {}
        self.head = 0
        self.joined: ReferenceType[EventChunk] | None = None


class Recent:
    """A cache of committed chunks. A reader that does not find a chunk here reads it from the database."""

    def __init__(self, budget: int, commit: int) -> None:
        self.commit = commit
        self._budget = budget
        self._used = 0
        self._rings: dict[int, _Ring] = {}
        self._by_commit: dict[int, Sequence[EventChunk]] = {}
        self._order: deque[EventChunk] = deque()

    def publish(self, chunks: Sequence[EventChunk]) -> None:
        """Committed chunks, in the order of their commits; those of projections, or read from a table, have none."""
        for chunk in chunks:
            ring = self._rings.setdefault(chunk.session, _Ring())
            if chunk.first <= ring.head:  # read from the database before: only in a cluster
                self.forget(chunk.session)
                ring = self._rings.setdefault(chunk.session, _Ring())
            ring.head = chunk.last
            pieces = chunk.split(PIECE_BYTES)
            for piece in pieces:
                ring.chunks[piece.first - 1] = piece
                self._order.append(piece)
                self._used += _cost(piece)
            if chunk.commit:
                self.commit = max(self.commit, chunk.commit)
                self._by_commit[chunk.commit] = pieces
        while self._used > self._budget:
            self._drop(self._order.popleft())

    def forget(self, session: int) -> None:
        ring = self._rings.get(session)
        if ring is not None:
            self._order = deque(chunk for chunk in self._order if chunk.session != session)
            for chunk in list(ring.chunks.values()):
                self._drop(chunk)

    def head(self, session: int) -> int | None:
        ring = self._rings.get(session)
        return None if ring is None else ring.head

    def after(self, session: int, sequence: int) -> EventChunk | None:
        """The events after `sequence`, small chunks joined up to `PIECE_BYTES`; one object for all readers there."""
        ring = self._rings.get(session)
        chunk = None if ring is None else ring.chunks.get(sequence)
        if ring is None or chunk is None or chunk.last == ring.head or chunk.size >= PIECE_BYTES:
            return chunk
        pieces, size = [chunk], chunk.size
        while (chunk := ring.chunks.get(chunk.last)) is not None and size + chunk.size <= PIECE_BYTES:
            pieces.append(chunk)
            size += chunk.size
        if len(pieces) == 1:
            return pieces[0]
        made = ring.joined and ring.joined()
        if made is None or made.first != pieces[0].first or made.last != pieces[-1].last:
            made = EventChunk.joined(pieces)
            ring.joined = ref(made)
        return made

    def edge(self, session: int, sequence: int) -> int | None:
        """The position before the first kept chunk after `sequence`. A replay that ends there continues with chunks."""
        ring = self._rings.get(session)
        return None if ring is None else next((before for before in ring.chunks if before > sequence), None)

    def committed(self, commit: int, after: int = 0) -> tuple[EventChunk, bool] | None:
        """The piece of a commit that begins after the sequence `after`, or its first; True if it is the last piece."""
        pieces = self._by_commit.get(commit)
        if pieces is None:
            return None
        piece = pieces[0] if not after else next((piece for piece in pieces if piece.first == after + 1), None)
        return None if piece is None else (piece, piece is pieces[-1])

    def _drop(self, chunk: EventChunk) -> None:
        self._used -= _cost(chunk)
        self._by_commit.pop(chunk.commit, None)
        ring = self._rings[chunk.session]
        del ring.chunks[chunk.first - 1]
        if not ring.chunks:
            del self._rings[chunk.session]


def _cost(chunk: EventChunk) -> int:
    """Estimated memory: the bodies, the same as they are sent, and a constant for each event."""
    return 2 * chunk.size + _EVENT_OVERHEAD * len(chunk.events)
