"""Routes of threads: a session's own, and those of its sub-agents."""

from everyagent.api.managed.events import ManagedEventPage, page_answer
from everyagent.api.request_decoding import header
from everyagent.api.routing import Call, Encoded, Nothing, Routes
from everyagent.api.streaming import EventStream
from everyagent.errors import NotFound
from everyagent.managed.resources.pages import Page
from everyagent.managed.sessions.shape import EventTail, SessionThread, ThreadEvents, ThreadListQuery

routes = Routes("managed threads")


@routes.add("GET", "/anthropic/v1/sessions/{session_id}/threads", NotFound)
async def list_managed_threads(call: Call[ThreadListQuery, Nothing]) -> Page[SessionThread]:
    """The session's own thread first, then its sub-agents' in the order they came."""
    return await call.managed.threads.list(call.path["session_id"], call.query)


@routes.add("GET", "/anthropic/v1/sessions/{session_id}/threads/{thread_id}", NotFound)
async def retrieve_managed_thread(call: Call[Nothing, Nothing]) -> SessionThread:
    """One of them."""
    return await call.managed.threads.retrieve(call.path["session_id"], call.path["thread_id"])


@routes.add("POST", "/anthropic/v1/sessions/{session_id}/threads/{thread_id}/archive", NotFound, effect=True)
async def archive_managed_thread(call: Call[Nothing, Nothing]) -> SessionThread:
    """Archive an idle thread. It can still be read."""
    return await call.managed.threads.archive(call.path["session_id"], call.path["thread_id"])


@routes.add("GET", "/anthropic/v1/sessions/{session_id}/threads/{thread_id}/events", NotFound)
async def list_managed_thread_events(call: Call[ThreadEvents, Nothing]) -> Encoded[ManagedEventPage]:
    """List the events of a thread."""
    path = call.path
    return page_answer(*await call.managed.threads.events(path["session_id"], path["thread_id"], call.query))


@routes.add("GET", "/anthropic/v1/sessions/{session_id}/threads/{thread_id}/stream", NotFound)
async def stream_managed_thread(call: Call[EventTail, Nothing]) -> EventStream:
    """Stream the events of a thread from now on."""
    seen = header(call.scope, b"last-event-id") or None
    path = call.path
    chunks = await call.managed.threads.stream(path["session_id"], path["thread_id"], call.query, seen)
    return EventStream(chunks, call.context.readers)
