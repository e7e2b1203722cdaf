"""Event streams of managed sessions: stored events on commit, and previews on request."""

from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager

import msgspec

from everyagent.clock import rfc3339
from everyagent.errors import EveryagentError, SessionNotFound
from everyagent.log.chunk import EventChunk
from everyagent.log.log import StoredEvent
from everyagent.log.projections import SUPERSEDED, ProjectionRecord
from everyagent.managed.projection.emitter import OnThread
from everyagent.managed.projection.events import ON_THREAD, TYPE_NUMBERS, SessionDeleted
from everyagent.managed.projection.naming import event_id, thread_id
from everyagent.managed.sessions.presentation import document_of, subagents_of
from everyagent.managed.sessions.previews import Previews
from everyagent.sessions.projected import ProjectedSessions

_TERMINATED = TYPE_NUMBERS["session.status_terminated"]
#: The last event of a session that is a thread of another one.
_THREAD_TERMINATED = TYPE_NUMBERS["session.thread_status_terminated"]
_wrapped = msgspec.json.Decoder(OnThread)


class Streams:
    """None in a stream stands for a heartbeat. The events of previews have the sequence 0."""

    def __init__(self, projected: ProjectedSessions) -> None:
        self._projected = projected
        self._deleting: set[str] = set()

    @contextmanager
    def deleting(self, session_id: str) -> Generator[None]:
        """A session that is deleted is terminated first: its streams go on until it is deleted."""
        self._deleting.add(session_id)
        try:
            yield
        finally:
            self._deleting.discard(session_id)

    def open(
        self, projection: ProjectionRecord, after: int, previews: frozenset[str], thread: str | None
    ) -> AsyncIterator[EventChunk | None]:
        """Everything after a sequence, then live. Ends with the session: terminated, or deleted."""
        if projection.status == "terminated" and after >= projection.head:
            return _nothing()
        ends = _TERMINATED if document_of(projection).thread_of is None else _THREAD_TERMINATED
        own = thread is None or thread == thread_id(projection.session_id)
        if not previews:
            return self._plain(projection, after, ends, None if own else thread)
        head = self._projected.log.head(projection.session)
        return self._previewed(projection, after, ends, head, previews, None if own else thread)

    async def _plain(
        self, projection: ProjectionRecord, after: int, ends: int, thread: str | None
    ) -> AsyncIterator[EventChunk | None]:
        last = after
        async for chunk in self._projected.tail(projection.session, after):
            if chunk is None:
                yield None
                continue
            if wanted := _on_thread(chunk, thread):
                yield wanted
            if _has(chunk, ends) and projection.session_id not in self._deleting:
                return
            last = chunk.last
        if deleted := await self._deleted(projection, last):
            yield deleted

    async def _previewed(
        self,
        projection: ProjectionRecord,
        after: int,
        ends: int,
        head: int | None,
        kinds: frozenset[str],
        thread: str | None,
    ) -> AsyncIterator[EventChunk | None]:
        if head is None:
            head = (await self._projected.log.session(projection.session_id)).last_sequence
        previews = Previews(projection.session_id, kinds, _started_by(projection, thread))
        last = after
        async for pair in self._projected.paired_tail(projection.session, head, after):
            if pair is None:
                yield None
                continue
            if pair.events and (made := previews.of(pair.events)):
                yield EventChunk(projection.session, made)
            if pair.projection:
                if wanted := _on_thread(pair.projection, thread):
                    yield wanted
                if _has(pair.projection, ends) and projection.session_id not in self._deleting:
                    return
                last = pair.projection.last
        if deleted := await self._deleted(projection, last):
            yield deleted

    async def _deleted(self, projection: ProjectionRecord, last: int) -> EventChunk | None:
        """The last event of a tail that ended because its session was deleted; None if the daemon shuts down."""
        try:
            await self._projected.log.projection(projection.session_id)
        except SessionNotFound:
            event = SessionDeleted(
                id=event_id(projection.session_id, "deleted"), processed_at=rfc3339(self._projected.clock.micros())
            )
            return EventChunk(projection.session, [StoredEvent(last + 1, 0, msgspec.json.encode(event))])
        except EveryagentError:
            return None
        return None


async def _nothing() -> AsyncIterator[EventChunk | None]:
    return
    yield


def _has(chunk: EventChunk, type_number: int) -> bool:
    return any(event.type == type_number for event in chunk.events)


def _on_thread(chunk: EventChunk, thread: str | None) -> EventChunk | None:
    """The chunk itself where all its events are the session's own: its readers share their bytes."""
    if thread is None and all(event.type < ON_THREAD for event in chunk.events):
        return chunk
    wanted = on_thread(chunk.events, thread)
    return EventChunk(chunk.session, wanted) if wanted else None


def on_thread(events: Sequence[StoredEvent], thread: str | None) -> list[StoredEvent]:
    """The events of a sub-agent's thread, or of the session's own for None."""
    if thread is None:
        return [event for event in events if event.type not in (ON_THREAD, SUPERSEDED)]
    found = [(event, _wrapped.decode(event.body)) for event in events if event.type == ON_THREAD]
    return [
        StoredEvent(event.sequence, event.type, bytes(inner.event)) for event, inner in found if inner.thread == thread
    ]


def _started_by(projection: ProjectionRecord, thread: str | None) -> str | None:
    """The id of the item whose tool call started a thread."""
    return next((item for item, found in subagents_of(projection).items() if found.id == thread), None)
