"""The route that searches transcripts."""

from typing import Annotated

from msgspec import Meta, Struct

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.api.streaming import unless_gone
from everyagent.errors import SessionNotFound
from everyagent.model.responses import SearchHits

routes = Routes("sessions")


class SearchQuery(Struct, frozen=True, kw_only=True):
    """`session` limits the search to one session."""

    q: Annotated[str, Meta(min_length=1, max_length=1000)]
    session: str | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


@routes.add("GET", "/v1/search", SessionNotFound)
async def search(call: Call[SearchQuery, Nothing]) -> SearchHits:
    """Search the transcripts of all sessions, best hits first."""
    query = call.query
    hits = call.sessions.search(query.q, session_id=query.session, limit=query.limit)
    return SearchHits(hits=await unless_gone(call.scope, call.receive, hits))
