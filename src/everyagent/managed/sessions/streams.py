"""Streams of a managed session's events: the stored bytes as they are committed, and previews for those who ask."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from everyagent.clock import rfc3339
from everyagent.errors import EveryagentError, SessionNotFound
from everyagent.log.log import Chunk, StoredEvent
from everyagent.log.projections import SUPERSEDED, ProjectionRecord
from everyagent.managed.projection.events import ON_THREAD, SessionDeleted
from everyagent.managed.projection.naming import event_id, thread_id
from everyagent.managed.projection.teller import OnThread
from everyagent.managed.sessions.presentation import subagents_of
from everyagent.managed.sessions.previews import Previews
from everyagent.sessions.history.tails import frame
from everyagent.sessions.machine.projected_sessions import ProjectedSessions

_wrapped = msgspec.json.Decoder(OnThread)


class Streams:
    def __init__(self, viewed: ProjectedSessions) -> None:
        self._viewed = viewed

    def open(
        self, view: ProjectionRecord, after: int, previews: frozenset[str], thread: str | None
    ) -> AsyncIterator[bytes | None]:
        """Everything after a number, then live. None: time for a heartbeat."""
        own = thread is None or thread == thread_id(view.session_id)
        if not previews:
            return self._plain(view, after, None if own else thread)
        head = self._viewed.log.head(view.session)
        return self._previewed(view, after, head, previews, None if own else thread)

    async def _plain(self, view: ProjectionRecord, after: int, thread: str | None) -> AsyncIterator[bytes | None]:
        number = after
        async for chunk in self._viewed.tail(view.session, after):
            if chunk is None:
                yield None
            elif sse := _sse(chunk, thread):
                yield sse
            number = chunk.last if chunk else number
        if last := await self._farewell(view, number):
            yield last

    async def _previewed(
        self, view: ProjectionRecord, after: int, head: int | None, kinds: frozenset[str], thread: str | None
    ) -> AsyncIterator[bytes | None]:
        if head is None:
            head = (await self._viewed.log.session(view.session_id)).last_sequence
        previews = Previews(view.session_id, kinds, _started_by(view, thread))
        number = after
        async for pair in self._viewed.paired_tail(view.session, head, after):
            if pair is None:
                yield None
                continue
            made = previews.of(pair.events.events) if pair.events else b""
            if pair.view:
                made += _sse(pair.view, thread)
                number = pair.view.last
            if made:
                yield made
        if last := await self._farewell(view, number):
            yield last

    async def _farewell(self, view: ProjectionRecord, number: int) -> bytes | None:
        """The tail has ended: because the session is gone, or because the daemon goes."""
        try:
            await self._viewed.log.view(view.session_id)
        except SessionNotFound:
            gone = SessionDeleted(
                id=event_id(view.session_id, "deleted"), processed_at=rfc3339(self._viewed.clock.micros())
            )
            return b"id: %d\nevent: message\ndata: %b\n\n" % (number + 1, msgspec.json.encode(gone))
        except EveryagentError:
            return None
        return None


def _sse(chunk: Chunk, thread: str | None) -> bytes:
    """What of a chunk belongs on a thread: on the session's own all but what is others'."""
    if thread is None and all(event.type < ON_THREAD for event in chunk.events):
        return chunk.sse()
    return b"".join(map(frame, on_thread(chunk.events, thread)))


def on_thread(events: Sequence[StoredEvent], thread: str | None) -> list[StoredEvent]:
    if thread is None:
        return [event for event in events if event.type not in (ON_THREAD, SUPERSEDED)]
    found = [(event, _wrapped.decode(event.body)) for event in events if event.type == ON_THREAD]
    return [
        StoredEvent(event.sequence, event.type, bytes(inner.event)) for event, inner in found if inner.thread == thread
    ]


def _started_by(view: ProjectionRecord, thread: str | None) -> str | None:
    """The item whose call started a thread."""
    return next((item for item, found in subagents_of(view).items() if found.id == thread), None)
