"""Routes to send, list and stream events. Lists and streams are the stored bytes."""

import msgspec
from msgspec import Struct

from everyagent.api.authorization import require_scope
from everyagent.api.request_decoding import header
from everyagent.api.routing import Call, Encoded, Nothing, Routes
from everyagent.api.streaming import EventStream
from everyagent.errors import BudgetExceeded, Conflict, SessionNotFound
from everyagent.managed.sessions.client_events import ANSWERS, SystemMessage, UserDefineOutcome, UserMessage
from everyagent.managed.sessions.shape import EventListQuery, EventTail, SendEvents
from everyagent.model.principals import current
from everyagent.sessions import JoinedPage

routes = Routes("managed events")
_TURNS = (UserMessage, UserDefineOutcome)


class AnyManagedEvent(Struct, frozen=True):
    """Any event."""


class ManagedEventPage(Struct, frozen=True, kw_only=True):
    data: list[AnyManagedEvent]
    next_page: str | None


class SentEvents(Struct, frozen=True, kw_only=True):
    """The sent events; `processed_at` is null for those that are queued."""

    data: list[AnyManagedEvent]


@routes.add(
    "POST",
    "/anthropic/v1/sessions/{session_id}/events",
    SessionNotFound,
    Conflict,
    BudgetExceeded,
    effect=True,
    scope=("run", "answer"),
)
async def send_managed_events(call: Call[Nothing, SendEvents]) -> Encoded[SentEvents]:
    """Send events: all or none. A key needs the scope `answer` for results and confirmations, `run` for the others."""
    answers = [isinstance(event, ANSWERS) for event in call.body.events]
    if any(answers):
        require_scope(current(), ("answer",))
    if not all(answers):
        require_scope(current(), ("run",))
    keys = call.sessions.services.keys
    if keys is not None and any(isinstance(event, _TURNS) for event in call.body.events):
        keys.check_budget(current().key_id)
    body = await call.managed.talking.send(call.path["session_id"], call.body.events, call.receipt(_sent))
    if isinstance(call.body.events[-1], SystemMessage):
        call.warnings += await _plain_instructions(call)
    return Encoded(body)


@routes.add("GET", "/anthropic/v1/sessions/{session_id}/events", SessionNotFound)
async def list_managed_events(call: Call[EventListQuery, Nothing]) -> Encoded[ManagedEventPage]:
    """List a session's events."""
    return page_answer(*await call.managed.talking.list(call.path["session_id"], call.query))


@routes.add("GET", "/anthropic/v1/sessions/{session_id}/events/stream", SessionNotFound)
async def stream_managed_events(call: Call[EventTail, Nothing]) -> EventStream:
    """Stream events from now on, or after the one in the `Last-Event-ID` header."""
    return await _stream(call)


@routes.add("GET", "/anthropic/v1/sessions/{session_id}/stream", SessionNotFound)
async def stream_managed_session(call: Call[EventTail, Nothing]) -> EventStream:
    """Alias of `events/stream`."""
    return await _stream(call)


async def _plain_instructions(call: Call[Nothing, SendEvents]) -> list[str]:
    """Warnings about a `system.message` that reaches the model as a part of another message."""
    if not isinstance(call.body.events[-2], UserMessage):
        return ["`system.message` is part of the result before it, and not privileged: the turn has begun"]
    adapter = call.sessions.agents.adapter((await call.sessions.get(call.path["session_id"])).agent)
    if adapter.capabilities.system_messages:
        return []
    return [f"`system.message` is part of the user's message, and not privileged: {adapter.title} takes none"]


def _sent(body: bytes) -> Encoded[SentEvents]:
    return Encoded(body)


async def _stream(call: Call[EventTail, Nothing]) -> EventStream:
    seen = header(call.scope, b"last-event-id") or None
    chunks = await call.managed.talking.stream(call.path["session_id"], call.query, seen)
    return EventStream(chunks, call.context.readers)


def page_answer(page: JoinedPage, next_page: str | None) -> Encoded[ManagedEventPage]:
    return Encoded(b"".join((b'{"data":[', page.bodies, b'],"next_page":', msgspec.json.encode(next_page), b"}")))
