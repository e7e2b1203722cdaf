"""Streams of a session's events as SSE bytes: what the log's tail yields, filtered, with raw frames, by turn."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from everyagent.errors import BadRequest
from everyagent.log.log import Chunk, EventQuery, FeedPosition, Log, StoredEvent
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


def frame(event: StoredEvent) -> bytes:
    return b"id: %d\nevent: message\ndata: %b\n\n" % (event.sequence, event.body)


class Tails:
    def __init__(self, log: Log) -> None:
        self._log = log

    async def session(
        self, session: int, after: int, types: frozenset[int], *, raw: bool
    ) -> AsyncIterator[bytes | None]:
        """Everything after `after`, then live; ends after `session.ended`. None: time for a heartbeat."""
        async for chunk in self._log.tail(session, after):
            if chunk is None:
                yield None
                continue
            if not raw and not types:
                yield chunk.sse()
            else:
                wanted = [event for event in await self._events(chunk, raw) if not types or event.type in types]
                if wanted:
                    yield b"".join(map(frame, wanted))
            if chunk.events[-1].type == _ENDED:
                return

    async def turn(self, session: int, after: int, item_id: str, *, raw: bool) -> AsyncIterator[bytes | None]:
        """The turn that takes the message `item_id`, from its start to its end."""
        running = False
        async for chunk in self._log.tail(session, after):
            if chunk is None:
                yield None
                continue
            wanted: list[bytes] = []
            over = False
            for event in await self._events(chunk, raw):
                if event.type == _TURN_STARTED and not running:
                    running = item_id in _turn_started.decode(event.body).data.input_item_ids
                if running:
                    wanted.append(frame(event))
                if event.type == _ENDED or (running and event.type == _TURN_ENDED):
                    over = True
                    break
            if wanted:
                yield b"".join(wanted)
            if over:
                return

    async def feed(self, after: FeedPosition | None, types: frozenset[int]) -> AsyncIterator[bytes | None]:
        """All sessions, in commit order; ids are `<commit>.<sequence>`."""
        async for chunk in self._log.feed(after):
            if chunk is None:
                yield None
                continue
            frames = [
                b"id: %d.%d\nevent: message\ndata: %b\n\n" % (chunk.commit, event.sequence, event.body)
                for event in chunk.events
                if not types or event.type in types
            ]
            if frames:
                yield b"".join(frames)

    async def _events(self, chunk: Chunk, raw: bool) -> Sequence[StoredEvent]:
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
