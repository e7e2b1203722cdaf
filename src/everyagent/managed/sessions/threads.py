"""Threads of a managed session: its own, and one for each of its sub-agents."""

from collections.abc import AsyncIterator

import msgspec

from everyagent.errors import BadRequest, Conflict, NotFound, SessionNotFound
from everyagent.log.chunk import EventChunk
from everyagent.log.log import EventQuery, JoinedPage
from everyagent.log.projections import ProjectionRecord
from everyagent.managed.projection.commands import CommandFrame, ThreadArchived
from everyagent.managed.projection.events import ON_THREAD
from everyagent.managed.projection.state import AT_WORK
from everyagent.managed.resources.pages import Page, cursor, position
from everyagent.managed.sessions.conversation import Talking
from everyagent.managed.sessions.presentation import roster_thread, state_of, subagents_of, threads_of
from everyagent.managed.sessions.shape import EventListQuery, EventTail, SessionThread, ThreadEvents, ThreadListQuery
from everyagent.managed.sessions.streams import on_thread
from everyagent.sessions import Sessions
from everyagent.sessions.machine.inputs import Batch


class SessionThreads:
    def __init__(self, sessions: Sessions, talking: Talking) -> None:
        self._sessions = sessions
        self._projected = sessions.projected
        self._talking = talking

    async def list(self, session_id: str, asked: ThreadListQuery) -> Page[SessionThread]:
        projection = await self._projected.log.projection(session_id)
        found = threads_of(projection, self._projected.clock.micros())
        wanted = [thread for thread in found if not asked.statuses or thread.status in asked.statuses]
        start = position(asked.page, "asc") if asked.page else 0
        end = start + asked.limit
        shown = [await self._shown(projection, thread) for thread in wanted[start:end]]
        return Page(data=shown, next_page=cursor(end, "asc") if end < len(wanted) else None)

    async def retrieve(self, session_id: str, thread_id: str) -> SessionThread:
        return await self._shown(*await self._find(session_id, thread_id))

    async def archive(self, session_id: str, thread_id: str) -> SessionThread:
        """Archives a thread at rest; it can still be read."""
        projection, thread = await self._find(session_id, thread_id)
        if thread.parent_thread_id is None:
            raise BadRequest("The session's own thread is archived with it: archive the session.")
        asks = any(action.thread == thread_id for action in state_of(projection).actions.values())
        if thread.status in AT_WORK or asks:
            status = "waiting for an answer" if asks else thread.status
            raise Conflict(f"The thread {thread_id} is {status}. Interrupt it first.")
        if thread.archived_at is None:
            cause = msgspec.json.encode(CommandFrame(managed=ThreadArchived(thread=thread_id)))
            await self._projected.submit(session_id, lambda _: Batch(frame=cause))
        if own := _own_session(projection, thread_id):
            await self._sessions.terminate(own)
        return await self.retrieve(session_id, thread_id)

    async def events(self, session_id: str, thread_id: str, asked: ThreadEvents) -> tuple[JoinedPage, str | None]:
        projection, thread = await self._find(session_id, thread_id)
        if thread.parent_thread_id is None:
            return await self._talking.list(session_id, EventListQuery(limit=asked.limit, page=asked.page))
        if own := _own_session(projection, thread_id):
            return await self._talking.list(own, EventListQuery(limit=asked.limit, page=asked.page))
        after = position(asked.page, "asc") if asked.page else 0
        bodies: list[bytes] = []
        more = True
        while more:
            query = EventQuery(session=0, after=after, limit=asked.limit, types=frozenset({ON_THREAD}))
            page = await self._projected.event_page(projection.session, query)
            for event in page.events:
                mine = on_thread([event], thread_id)
                if mine and len(bodies) == asked.limit:
                    return JoinedPage(b",".join(bodies), True, projection.head, after), cursor(after, "asc")
                bodies += [each.body for each in mine]
                after = event.sequence
            more = page.more
        return JoinedPage(b",".join(bodies), False, projection.head, after), None

    async def stream(
        self, session_id: str, thread_id: str, asked: EventTail, last_event_id: str | None
    ) -> AsyncIterator[EventChunk | None]:
        projection, _ = await self._find(session_id, thread_id)
        if own := _own_session(projection, thread_id):
            return await self._talking.stream(own, asked, last_event_id)
        return await self._talking.stream(session_id, asked, last_event_id, thread_id)

    async def _shown(self, projection: ProjectionRecord, thread: SessionThread) -> SessionThread:
        own = _own_session(projection, thread.id)
        if own is None:
            return thread
        try:
            return roster_thread(thread, await self._projected.log.projection(own), self._projected.clock.micros())
        except SessionNotFound:  # it could not be created, or was deleted
            return thread

    async def _find(self, session_id: str, thread_id: str) -> tuple[ProjectionRecord, SessionThread]:
        projection = await self._projected.log.projection(session_id)
        for thread in threads_of(projection, self._projected.clock.micros()):
            if thread.id == thread_id:
                return projection, thread
        raise NotFound(f"The session {session_id!r} has no thread {thread_id!r}.")


def _own_session(projection: ProjectionRecord, thread_id: str) -> str | None:
    """The session of a thread of the roster."""
    return next((each.session for each in subagents_of(projection).values() if each.id == thread_id), None)
