"""Calls that read events and frames, as pages, streams or an exported document."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Raw, Struct

from everyagent.client.call import ApiCall, ApiResponse, decoded, get, nothing, params, path
from everyagent.client.event_codec import AnyEvent, decode_any_event
from everyagent.model.responses import FrameList

ExportFormat = Literal["markdown", "html", "jsonl"]


class EncodedEvents(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page whose events are decoded one by one, so that one unknown event does not affect the others."""

    events: list[Raw]
    has_more: bool
    head: int


class DecodedEvents(Struct, frozen=True, kw_only=True):
    """A page of events. `head` is the session's last sequence."""

    events: list[AnyEvent]
    has_more: bool
    head: int


_stored = decoded(EncodedEvents)
_frames = decoded(FrameList)


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
) -> ApiCall[DecodedEvents]:
    """One page of events. `offset` is the last sequence seen; `since` and `until` are RFC 3339 times."""
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


def frames(session_id: str, *, offset: int = 0, limit: int | None = None) -> ApiCall[FrameList]:
    """The native frames between the agent and the daemon, in both directions."""
    return get(path("sessions", session_id, "frames"), _frames, params(offset=offset, limit=limit))


def tail(session_id: str, *, types: Sequence[str] = (), include_raw: bool = False) -> ApiCall[None]:
    """The stream of a session's events; the stream position adds where to begin."""
    asked = params(types=",".join(types) or None, include_raw=include_raw or None)
    return get(path("sessions", session_id, "events", "sse"), nothing, asked)


def feed(*, types: Sequence[str] = ()) -> ApiCall[None]:
    """The stream of all sessions' events."""
    return get(path("events", "sse"), nothing, params(types=",".join(types) or None))


def export(session_id: str, *, format: ExportFormat = "markdown") -> ApiCall[None]:
    """A whole session as a document."""
    return get(path("sessions", session_id, "export"), nothing, params(format=format))


def _event_page(response: ApiResponse) -> DecodedEvents:
    stored = _stored(response)
    return DecodedEvents(
        events=[decode_any_event(bytes(body)) for body in stored.events], has_more=stored.has_more, head=stored.head
    )
