"""Event streams of sessions: the log's tails, filtered by type or turn, with raw frames on request.

None is a heartbeat: there was no event for a while.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import lru_cache

import msgspec

from everyagent.errors import BadRequest
from everyagent.log.chunk import EventChunk
from everyagent.log.log import EventQuery, FeedPosition, Log, StoredEvent
from everyagent.model.events import TYPE_NUMBERS, Envelope, SessionEnded, TurnEnded, TurnStarted

_ENDED = TYPE_NUMBERS[SessionEnded.type]
_TURN_STARTED = TYPE_NUMBERS[TurnStarted.type]
_TURN_ENDED = TYPE_NUMBERS[TurnEnded.type]
_turn_started = msgspec.json.Decoder(Envelope[TurnStarted])


def type_numbers(types: Sequence[str]) -> frozenset[int]:
    unknown = [name for name in types if name not in TYPE_NUMBERS]
    if unknown:
        raise BadRequest(
            f"There is no event type {unknown[0]!r}. There is: {', '.join(TYPE_NUMBERS)}.", types=list(TYPE_NUMBERS)
        )
    return frozenset(TYPE_NUMBERS[name] for name in types)


class _SelectedTail(AsyncIterator[EventChunk | None]):
    """The selected events of a tail, up to an event of the type `end`. Unlike a generator, it holds no chunk.

    Without `selected`, all of them.
    """

    __slots__ = ("_chunks", "_end", "_over", "_selected")

    def __init__(
        self,
        chunks: AsyncIterator[EventChunk | None],
        selected: Callable[[EventChunk], Awaitable[EventChunk | None]] | None,
        end: int | None = None,
    ) -> None:
        self._chunks = chunks
        self._selected = selected
        self._end = end
        self._over = False

    async def __anext__(self) -> EventChunk | None:
        while not self._over:
            chunk = await anext(self._chunks)
            if chunk is None:
                return None
            self._over = chunk.events[-1].type == self._end
            if self._selected is None:
                return chunk
            if selected := await self._selected(chunk):
                return selected
        raise StopAsyncIteration


@lru_cache(32)
def _selection(types: frozenset[int]) -> Callable[[EventChunk], EventChunk | None]:
    """One function for all readers with the same filter: they share what is derived from a chunk with it."""

    def selection(chunk: EventChunk) -> EventChunk | None:
        wanted = [event for event in chunk.events if event.type in types]
        return EventChunk(chunk.session, wanted, chunk.commit) if wanted else None

    return selection


def _joined(selections: list[EventChunk | None]) -> EventChunk | None:
    found = [selection for selection in selections if selection is not None]
    return EventChunk.joined(found) if len(found) > 1 else (found[0] if found else None)


class Tails:
    def __init__(self, log: Log) -> None:
        self._log = log

    def session(
        self, session: int, after: int, types: frozenset[int], *, raw: bool
    ) -> AsyncIterator[EventChunk | None]:
        """Everything after `after`, then live; ends after `session.ended`."""
        return _SelectedTail(self._log.tail(session, after), self._selected(types, raw), _ENDED)

    async def turn(self, session: int, after: int, item_id: str, *, raw: bool) -> AsyncIterator[EventChunk | None]:
        """The turn that takes the message `item_id`, from its start to its end. Ends if the message was withdrawn."""
        running = missing = False
        async for chunk in self._log.tail(session, after):
            if chunk is None:
                yield None
                if not running:
                    earlier, missing = missing, all(each.item_id != item_id for each in await self._log.inputs(session))
                    if earlier and missing:  # a turn that began between the two is read before the second
                        return
                continue
            wanted: list[StoredEvent] = []
            over = False
            for event in await self._events(chunk, raw):
                if event.type == _TURN_STARTED and not running:
                    running = item_id in _turn_started.decode(event.body).data.input_item_ids
                if running:
                    wanted.append(event)
                if event.type == _ENDED or (running and event.type == _TURN_ENDED):
                    over = True
                    break
            if wanted:
                yield EventChunk(session, wanted)
            if over:
                return

    def feed(self, after: FeedPosition | None, types: frozenset[int], *, raw: bool) -> AsyncIterator[EventChunk | None]:
        """All sessions, in commit order."""
        return _SelectedTail(self._log.feed(after), self._selected(types, raw))

    def _selected(
        self, types: frozenset[int], raw: bool
    ) -> Callable[[EventChunk], Awaitable[EventChunk | None]] | None:
        """Selects from a chunk. None if a reader gets all of it."""
        if not raw and not types:
            return None
        selection = _selection(types)

        async def selected(chunk: EventChunk) -> EventChunk | None:
            if not raw:
                return chunk.derived(selection, _joined)
            wanted = [event for event in await self._events(chunk, raw) if not types or event.type in types]
            return EventChunk(chunk.session, wanted, chunk.commit) if wanted else None

        return selected

    async def _events(self, chunk: EventChunk, raw: bool) -> Sequence[StoredEvent]:
        if not raw:
            return chunk.events
        events: list[StoredEvent] = []
        after = chunk.first - 1
        while after < chunk.last:
            query = EventQuery(session=chunk.session, after=after, limit=chunk.last - after, raw=True)
            page = await self._log.events(query)
            if not page.events:
                break
            events += page.events
            after = page.events[-1].sequence
        return events


def feed_position(text: str | None) -> FeedPosition | None:
    if text is None:
        return None
    commit, dot, sequence = text.partition(".")
    if not (dot and commit.isdecimal() and sequence.isdecimal() and len(text) <= 40):
        raise BadRequest(
            f"{text!r} is no position in the feed of all sessions. Give the id of the last event you saw, as it came, "
            "or leave it out to start from now."
        )
    return FeedPosition(int(commit), int(sequence))
