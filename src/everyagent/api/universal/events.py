"""Routes that read events as pages and streams. Both send the stored bytes."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from everyagent.api.request_decoding import header
from everyagent.api.routing import Call, Encoded, NoContent, Nothing, Routes
from everyagent.api.sse import feed_frames
from everyagent.api.streaming import EventStream, unless_gone
from everyagent.api.universal.moments import Moment, micros
from everyagent.errors import BadRequest, LogDamaged, OffsetOutOfRange, SessionNotFound
from everyagent.model.events import TYPE_NUMBERS
from everyagent.sessions import EventsRequest

routes = Routes("events")

Position = Annotated[int, Meta(ge=0, le=2**53 - 1, description="The last sequence seen; later events are returned.")]
EventType = Annotated[str, Meta(extra_json_schema={"enum": sorted(TYPE_NUMBERS)})]


class EventsQuery(Struct, frozen=True, kw_only=True, rename="camel"):
    """`since` is inclusive, `until` exclusive; both are RFC 3339 with a zone, or seconds since 1970.

    In descending order, `offset` is the last sequence of the page before.
    `text` selects events whose JSON contains it, ignoring case; events over 256 KiB are skipped then.
    """

    offset: Position = 0
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    include_raw: bool = False
    types: list[EventType] = []
    order: Literal["asc", "desc"] = "asc"
    since: Moment | None = None
    until: Moment | None = None
    text: Annotated[str, Meta(max_length=1000)] = ""


class TailQuery(Struct, frozen=True, kw_only=True, rename="camel"):
    offset: Position = 0
    include_raw: bool = False
    types: list[EventType] = []


class FeedQuery(Struct, frozen=True, kw_only=True, rename="camel"):
    include_raw: bool = False
    types: list[EventType] = []


class Event(Struct, frozen=True):
    """Any event. The documents replace it by the union of all event types."""


class EventList(Struct, frozen=True, kw_only=True, rename="camel"):
    """`head` is the session's last sequence."""

    events: list[Event]
    has_more: bool
    head: int


@routes.add("GET", "/v1/sessions/{session_id}/events", SessionNotFound, OffsetOutOfRange, LogDamaged)
async def list_events(call: Call[EventsQuery, Nothing]) -> Encoded[EventList]:
    """List a page of a session's events."""
    query = call.query
    page = await unless_gone(
        call.scope,
        call.receive,
        call.sessions.events(
            call.path["session_id"],
            EventsRequest(
                after=query.offset,
                limit=query.limit,
                types=query.types,
                order=query.order,
                since=micros(query.since),
                until=micros(query.until),
                raw=query.include_raw,
                text=query.text,
            ),
        ),
    )
    tail = b'],"hasMore":%s,"head":%d}' % (b"true" if page.more else b"false", page.head)
    return Encoded(b"".join((b'{"events":[', page.bodies, tail)))


@routes.add("GET", "/v1/sessions/{session_id}/events/sse", SessionNotFound, OffsetOutOfRange, LogDamaged)
async def tail_events(call: Call[TailQuery, Nothing]) -> EventStream | NoContent:
    """Stream a session's events: the stored ones after `offset` or `Last-Event-ID`, then new ones as they happen.

    Responds with 204 if the session has ended and the client has seen all events, which stops a browser's EventSource.
    """
    session_id, after, types = call.path["session_id"], _position(call), call.query.types
    session = await call.sessions.get(session_id)
    if session.ended and after == session.event_count:
        return NoContent()
    chunks = await call.sessions.tail(session_id, after=after, types=types, raw=call.query.include_raw)
    # A stored event is read before the headers leave, so that a damaged one is an error response.
    stored = after < session.event_count and not types
    return EventStream(chunks, call.context.readers, first=await anext(chunks, None) if stored else None)


@routes.add("GET", "/v1/events/sse", OffsetOutOfRange)
async def feed_events(call: Call[FeedQuery, Nothing]) -> EventStream:
    """Stream the events of all sessions, from now on or after the `Last-Event-ID` header."""
    after = header(call.scope, b"last-event-id") or None
    chunks = await call.sessions.feed(after=after, types=call.query.types, raw=call.query.include_raw)
    return EventStream(chunks, call.context.readers, feed_frames)


def _position(call: Call[TailQuery, Nothing]) -> int:
    """The position to start from. The header takes precedence: an EventSource updates it, but not its URL."""
    seen = header(call.scope, b"last-event-id")
    if not seen:
        return call.query.offset
    if not (seen.isascii() and seen.isdigit() and len(seen) <= 16):
        raise BadRequest(f"Last-Event-ID must be a sequence number, not {seen!r}.", field="Last-Event-ID")
    return int(seen)
