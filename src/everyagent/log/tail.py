"""Readers of the log: replay, then live. A reader is a position and at most one chunk, never a queue.

Events that are not in memory are replayed from storage. The position decides what comes next, so no event is missed
or repeated.
"""

from collections import deque
from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from everyagent.errors import OffsetOutOfRange, SessionNotFound
from everyagent.log.chunk import EventChunk
from everyagent.log.log import FeedPosition, TailPair
from everyagent.log.recent import Recent
from everyagent.log.signals import ALL_SESSIONS, Signal, Signals


class Replay(NamedTuple):
    """The session's committed head, and the next events after the position, if there are any."""

    head: int
    chunk: EventChunk | None


class FeedMark(NamedTuple):
    """A feed's position, and whether everything of its commit was seen."""

    position: FeedPosition
    whole: bool


class FeedReplay(NamedTuple):
    """Every commit up to `through` is in `chunks`, or gone with its session."""

    chunks: list[EventChunk]
    through: FeedMark


class Storage(Protocol):
    """Access to events that are not in memory. Pages are bounded in bytes."""

    async def replay(self, session: int, after: int, until: int | None) -> Replay:
        """Raises `SessionNotFound`."""
        ...

    async def replay_feed(self, after: FeedMark, until: int) -> FeedReplay:
        """`until` is the last commit to look at."""
        ...


class SessionTail(AsyncIterator[EventChunk | None]):
    def __init__(self, recent: Recent, signals: Signals, storage: Storage, session: int, after: int) -> None:
        self._recent = recent
        self._signals = signals
        self._storage = storage
        self._session = session
        self._position = after
        self._started = False
        self._signal: Signal | None = None

    async def __anext__(self) -> EventChunk | None:
        while not self._signals.closed:
            if not await self.waited():
                return None
            chunk = await self.poll()
            if chunk is not None:
                return chunk
        raise StopAsyncIteration

    @property
    def closed(self) -> bool:
        return self._signals.closed

    async def waited(self) -> bool:
        """After a poll that found nothing: wait for the next commit. False at a heartbeat."""
        return self._signal is None or await self._signal.wait()

    async def poll(self) -> EventChunk | None:
        """The next chunk, if there is one now. `StopAsyncIteration` when the session is gone."""
        self._signal = None
        chunk = self._recent.after(self._session, self._position) or await self._older()
        if chunk is not None:
            self._started = True
            self._position = chunk.last
        return chunk

    async def _older(self) -> EventChunk | None:
        """The next chunk from storage; or none, with the signal for what comes next."""
        if self._position < 0:
            raise out_of_range(self._position, 0)
        signal = self._signals.next(self._session)
        if self._started and self._recent.head(self._session) == self._position:
            self._signal = signal
            return None
        try:
            head, chunk = await self._storage.replay(
                self._session, self._position, self._recent.edge(self._session, self._position)
            )
        except SessionNotFound:
            if not self._started:
                raise
            raise StopAsyncIteration from None
        if chunk is None:
            if self._position > head:
                raise out_of_range(self._position, head)
            self._signal = signal
        self._started = True
        return chunk


class PairedTail(AsyncIterator[TailPair | None]):
    """Reads a session and its projection together. Commits of the projection fire the session's signal."""

    def __init__(self, events: SessionTail, projection: SessionTail) -> None:
        self._events = events
        self._projection = projection
        self._quiet = False

    async def __anext__(self) -> TailPair | None:
        while not self._events.closed:
            if self._quiet and not await self._events.waited():
                return None
            events = await self._events.poll()
            projection = None if events else await self._projection.poll()
            self._quiet = events is None and projection is None
            if projection is not None:  # what it was made from came before it, but perhaps after the first look
                events = await self._events.poll()
            if not self._quiet:
                return TailPair(events, projection)
        raise StopAsyncIteration


class FeedTail(AsyncIterator[EventChunk | None]):
    """All sessions, in the order of their commits. After `_mark` come the chunks that were replayed ahead, if any."""

    def __init__(self, recent: Recent, signals: Signals, storage: Storage, after: FeedPosition | None) -> None:
        self._recent = recent
        self._signals = signals
        self._storage = storage
        self._mark = FeedMark(after or FeedPosition(recent.commit, 0), whole=after is None)
        self._replayed: deque[EventChunk] = deque()
        self._signal: Signal | None = None

    async def __anext__(self) -> EventChunk | None:
        while not self._signals.closed:
            if self._replayed:
                return self._replayed.popleft()
            if self._signal is not None and not await self._signal.wait():
                return None
            self._signal = None
            (commit, sequence), whole = self._mark
            if not 0 <= commit <= self._recent.commit:
                raise out_of_range(commit, self._recent.commit)
            if whole and commit == self._recent.commit:
                self._signal = self._signals.next(ALL_SESSIONS)
            elif found := self._recent.committed(commit + 1 if whole else commit, 0 if whole else sequence):
                chunk, last = found
                self._mark = FeedMark(FeedPosition(chunk.commit, chunk.last), whole=last)
                return chunk
            else:
                chunks, self._mark = await self._storage.replay_feed(self._mark, self._recent.commit)
                self._replayed.extend(chunks)
        raise StopAsyncIteration


def out_of_range(position: int, head: int) -> OffsetOutOfRange:
    return OffsetOutOfRange(
        f"The position {position} is outside the log, which reaches from 0 (its start) to {head} (its head now).",
        head=head,
    )
