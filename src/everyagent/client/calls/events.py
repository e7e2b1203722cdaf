"""Calls that read what happened: pages of events and frames, and where streams of them begin."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from everyagent.client.call import ApiCall, ApiResponse, decoded, get, nothing, params, path
from everyagent.client.event_codec import AnyEvent, read_event
from everyagent.client.shapes import FramePage, StoredEvents

ExportFormat = Literal["markdown", "html", "jsonl"]

_stored = decoded(StoredEvents)
_frames = decoded(FramePage)


class EventPage(Struct, frozen=True, kw_only=True):
    """`head` is the session's last sequence at that moment."""

    events: list[AnyEvent]
    has_more: bool
    head: int


def event_page(
    session_id: str,
    *,
    offset: int = 0,
    limit: int | None = None,
    types: Sequence[str] = (),
    order: Literal["asc", "desc"] | None = None,
    since: str | None = None,
    until: str | None = None,
    include_raw: bool = False,
) -> ApiCall[EventPage]:
    """One page. `offset` is the last sequence seen; `since` and `until` are RFC 3339."""
    asked = params(
        offset=offset,
        limit=limit,
        types=",".join(types) or None,
        order=order,
        since=since,
        until=until,
        include_raw=include_raw or None,
    )
    return get(path("sessions", session_id, "events"), _event_page, asked)


def frames(session_id: str, *, offset: int = 0, limit: int | None = None) -> ApiCall[FramePage]:
    """What the agent and the daemon really said to each other, in both directions."""
    return get(path("sessions", session_id, "frames"), _frames, params(offset=offset, limit=limit))


def tail(session_id: str, *, types: Sequence[str] = (), include_raw: bool = False) -> ApiCall[None]:
    """The stream of a session's events; the cursor adds where to begin."""
    asked = params(types=",".join(types) or None, include_raw=include_raw or None)
    return get(path("sessions", session_id, "events", "sse"), nothing, asked)


def feed(*, types: Sequence[str] = ()) -> ApiCall[None]:
    """The stream of all sessions' events."""
    return get(path("events", "sse"), nothing, params(types=",".join(types) or None))


def export(session_id: str, *, format: ExportFormat = "markdown") -> ApiCall[None]:
    """A whole session as a document, piece by piece."""
    return get(path("sessions", session_id, "export"), nothing, params(format=format))


def _event_page(reply: ApiResponse) -> EventPage:
    stored = _stored(reply)
    return EventPage(
        events=[read_event(bytes(body)) for body in stored.events], has_more=stored.has_more, head=stored.head
    )
