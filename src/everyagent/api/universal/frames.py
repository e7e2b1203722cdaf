"""The route that lists the native frames between an agent and the daemon."""

from typing import Annotated

from msgspec import Meta, Struct

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import SessionNotFound
from everyagent.model.responses import FrameList

routes = Routes("events")


class FramesQuery(Struct, frozen=True, kw_only=True):
    """`offset` is the number of the last frame seen."""

    offset: Annotated[int, Meta(ge=0, le=2**53 - 1)] = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


@routes.add("GET", "/v1/sessions/{session_id}/frames", SessionNotFound)
async def list_frames(call: Call[FramesQuery, Nothing]) -> FrameList:
    """List native frames of both directions, each with the events made from it."""
    frames, more = await call.sessions.frames(call.path["session_id"], after=call.query.offset, limit=call.query.limit)
    return FrameList(frames=frames, has_more=more)
