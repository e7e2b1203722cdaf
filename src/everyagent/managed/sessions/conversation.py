"""Sends, lists and streams the events of managed sessions."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from everyagent.errors import BadRequest
from everyagent.log.chunk import EventChunk
from everyagent.log.log import EventQuery, JoinedPage, Receipt
from everyagent.log.projections import ProjectionRecord
from everyagent.managed.projection.document import ThreadOf
from everyagent.managed.projection.events import TYPE_NUMBERS
from everyagent.managed.projection.naming import thread_id
from everyagent.managed.projection.projector import Projector
from everyagent.managed.projection.state import AT_WORK
from everyagent.managed.resources.pages import cursor, micros, position
from everyagent.managed.roster.reports import ThreadReports, roster_of, threads_of
from everyagent.managed.sessions.batches import Planner, PreparedEvent, check_order, with_ids
from everyagent.managed.sessions.client_events import (
    ClientEvent,
    UserCustomToolResult,
    UserDefineOutcome,
    UserInterrupt,
    UserMessage,
    UserToolResult,
    answered_use,
)
from everyagent.managed.sessions.earlier_answers import answered_earlier
from everyagent.managed.sessions.presentation import document_of, state_of
from everyagent.managed.sessions.prompts import Prompts, ToolOutput, outcome_text
from everyagent.managed.sessions.shape import EventListQuery, EventTail, SessionListQuery
from everyagent.managed.sessions.streams import Streams
from everyagent.managed.workspace.shape import RESULTS
from everyagent.model.principals import current
from everyagent.model.sessions import SendMessage
from everyagent.sessions.machine.inputs import Batch
from everyagent.sessions.machine.projection import Projection
from everyagent.sessions.projected import ProjectedSessions


class Talking:
    def __init__(
        self,
        projected: ProjectedSessions,
        prompts: Prompts,
        folder: Callable[[str, str], Path],
        reports: ThreadReports,
    ) -> None:
        """`folder` is the path in a session's workspace for a path of the API."""
        self._folder = folder
        self._reports = reports
        self._projected = projected
        self._prompts = prompts
        self.streams = Streams(projected)

    async def check(self, events: Sequence[ClientEvent]) -> None:
        """Raises for events that no session accepts."""
        if events:
            check_order(events)
        for event in events:
            await self._message(event)

    async def send(
        self,
        session_id: str,
        events: Sequence[ClientEvent],
        receipt: Callable[[bytes], Receipt] | None = None,
    ) -> bytes:
        """Sends all events or none. Returns the response with the stored events.

        Threads of the roster get their answers first, once all batches are known to be accepted.
        """
        check_order(events)
        events = with_ids(events)
        prepared = [
            PreparedEvent(event, await self._message(event), await self._result(session_id, event)) for event in events
        ]
        known = await self._projected.log.projection(session_id)
        earlier = await answered_earlier(self._projected, session_id, known, events)
        of_threads = self._of_threads(known, prepared)
        if of_threads:
            _planned(session_id, prepared, _projector(session_id, known), earlier)
        try:
            for of, answers in of_threads.items():
                _planned(of.thread, answers, _projector(of.thread, await self._projected.log.projection(of.thread)))
            for of, answers in of_threads.items():
                await self._projected.submit(of.thread, partial(_planned, of.thread, answers))
        finally:  # also where a thread has ended, or is gone: it is reported as terminated
            for of in of_threads:
                self._reports.follow(of, current().actor)
        response: list[bytes] = []

        def plan(projection: Projection) -> Batch:
            projector = cast("Projector", projection)

            def answered() -> Receipt | None:
                response.append(b'{"data":[%b]}' % b",".join(projector.echoes[event.id] for event in events))
                return receipt(response[0]) if receipt else None

            return _planned(session_id, prepared, projection, earlier, answered)

        await self._projected.submit(session_id, plan)
        for event in events:
            if isinstance(event, UserInterrupt):
                await self._interrupt_threads(session_id, event)
        return response[0]

    def _of_threads(
        self, projection: ProjectionRecord, prepared: Sequence[PreparedEvent]
    ) -> dict[ThreadOf, list[PreparedEvent]]:
        """The answers to what threads of the roster ask."""
        found: dict[ThreadOf, list[PreparedEvent]] = {}
        actions, threads = state_of(projection).actions, threads_of(projection)
        for each in prepared:
            action = actions.get(answered_use(each.event) or "")
            if action and action.session:
                found.setdefault(threads[action.session], []).append(each)
        return found

    async def _interrupt_threads(self, session_id: str, event: UserInterrupt) -> None:
        """Stops the thread of the roster that the event names, or all of them."""
        projection = await self._projected.log.projection(session_id)
        asking = {action.session for action in state_of(projection).actions.values()}
        everything = event.session_thread_id in (None, thread_id(session_id))
        threads = threads_of(projection)
        for thread in roster_of(projection).values():
            of = threads[thread.session or ""]
            if event.session_thread_id == thread.id:
                await self._reports.interrupt(of, event)
            elif everything and (thread.status in AT_WORK or thread.session in asking):
                await self._reports.interrupt(of)

    async def _message(self, event: ClientEvent) -> SendMessage | None:
        match event:
            case UserMessage():
                return await self._prompts.message(event)
            case UserDefineOutcome():
                return SendMessage(message=outcome_text(event, await self._prompts.rubric(event)))
            case _:
                return None

    async def _result(self, session_id: str, event: ClientEvent) -> ToolOutput | None:
        match event:
            case UserCustomToolResult() | UserToolResult():
                document = document_of(await self._projected.log.projection(session_id))
                folder = None if document.self_hosted else self._folder(session_id, f"{RESULTS}/{event.id}")
                return await self._prompts.result(event.content, folder)
            case _:
                return None

    async def list(self, session_id: str, asked: EventListQuery) -> tuple[JoinedPage, str | None]:
        after = position(asked.page, asked.order) if asked.page else 0
        types = frozenset(_number(name) for name in asked.types)
        since, until = time_bounds(asked)
        query = EventQuery(
            session=0, after=after, limit=asked.limit, types=types, order=asked.order, since=since, until=until
        )
        page = await self._projected.page(session_id, query)
        return page, cursor(page.last, asked.order) if page.more else None

    async def stream(
        self, session_id: str, asked: EventTail, last_event_id: str | None, thread: str | None = None
    ) -> AsyncIterator[EventChunk | None]:
        """Streams from now on, or after the event with this SSE id; the position is fixed when this returns."""
        projection = await self._projected.log.projection(session_id)
        after = projection.head if last_event_id is None else _seen(last_event_id, projection.head)
        return self.streams.open(projection, after, frozenset(asked.event_deltas), thread)


def _planned(
    session_id: str,
    prepared: Sequence[PreparedEvent],
    projection: Projection,
    earlier: Collection[str] = (),
    receipt: Callable[[], Receipt | None] = lambda: None,
) -> Batch:
    projector = cast("Projector", projection)
    if any(isinstance(each.event, UserToolResult) for each in prepared) and not projector.document.self_hosted:
        raise BadRequest("`user.tool_result` is for sessions in a self-hosted environment.", field="events")
    return Planner(projector, session_id, earlier).plan(prepared, receipt)


def _projector(session_id: str, projection: ProjectionRecord) -> Projector:
    return Projector(session_id, projection.state, projection.document)


def time_bounds(asked: EventListQuery | SessionListQuery) -> tuple[int | None, int | None]:
    """The inclusive lower and the exclusive upper bound, in microseconds."""
    lower = (micros(asked.created_at_gte), _after(micros(asked.created_at_gt)))
    upper = (micros(asked.created_at_lt), _after(micros(asked.created_at_lte)))
    since = max((bound for bound in lower if bound is not None), default=None)
    return since, min((bound for bound in upper if bound is not None), default=None)


def _after(moment: int | None) -> int | None:
    return None if moment is None else moment + 1


def _number(name: str) -> int:
    if name not in TYPE_NUMBERS:
        raise BadRequest(f"There is no event type {name!r}. There is: {', '.join(TYPE_NUMBERS)}.", field="types")
    return TYPE_NUMBERS[name]


def _seen(given: str, head: int) -> int:
    if not (given.isascii() and given.isdigit() and len(given) <= 16 and int(given) <= head):
        raise BadRequest(
            f"Last-Event-ID must be the id of an SSE frame of this session, not {given!r}.", field="Last-Event-ID"
        )
    return int(given)
