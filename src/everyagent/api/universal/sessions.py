"""Routes that create, list, change, fork and end sessions."""

from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct

from everyagent.api.routing import Call, Encoded, Nothing, Routes, encoded
from everyagent.api.universal.key_limits import checked_creation
from everyagent.api.universal.moments import Moment, micros
from everyagent.api.universal.policy_names import unknown_names
from everyagent.api.universal.session_requests import CreateSessionRequest, translated
from everyagent.api.universal.session_skills import fetched
from everyagent.errors import (
    AgentFailed,
    AgentNotInstalled,
    BadRequest,
    Forbidden,
    GitFailed,
    NoRepository,
    SessionExists,
    SessionHasEnded,
    SessionNotFound,
    StorageFull,
    Unavailable,
    UnknownAgent,
    UnsupportedChoice,
)
from everyagent.model.events import SessionStatus
from everyagent.model.responses import Cancelled, SessionPage
from everyagent.model.sessions import ForkSession, SessionInfo, UpdateSession
from everyagent.sessions import SessionQuery

T = TypeVar("T")
routes = Routes("sessions")


class SessionsQuery(Struct, frozen=True, kw_only=True, rename="camel"):
    """`page` is the `nextPage` of the page before. `directory` is a session's whole directory.

    `metadata` has pairs `key:value`, with commas between them: all of them must be there. `since` (inclusive) and
    `until` (exclusive) limit the time of creation; both are RFC 3339 with a zone, or seconds since 1970.
    """

    status: SessionStatus | None = None
    agent: str | None = None
    directory: str | None = None
    metadata: list[str] = []
    since: Moment | None = None
    until: Moment | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    page: str | None = None


class CancelQuery(Struct, frozen=True, kw_only=True):
    """With `queued=withdraw` the messages that wait for their turn are not sent; the response has them."""

    queued: Literal["keep", "withdraw"] = "keep"


class CreatedSession(SessionInfo, frozen=True, kw_only=True, rename="camel"):
    healthy: bool = True


@routes.add("GET", "/v1/sessions")
async def list_sessions(call: Call[SessionsQuery, Nothing]) -> SessionPage:
    """List sessions, newest first."""
    asked = call.query
    query = SessionQuery(
        status=asked.status,
        agent=asked.agent,
        directory=asked.directory,
        metadata=[_pair(text) for text in asked.metadata],
        since=micros(asked.since),
        until=micros(asked.until),
        limit=asked.limit,
    )
    sessions, next_page = await call.sessions.list(query, asked.page)
    return SessionPage(sessions=sessions, next_page=next_page)


def _pair(text: str) -> tuple[str, str]:
    key, colon, value = text.partition(":")
    if not colon:
        raise BadRequest(f"{text!r} in `metadata` is no pair. Give the key, a colon and the value: `project:web`.")
    return key, value


async def _create(call: Call[Nothing, CreateSessionRequest], session_id: str | None) -> Encoded[CreatedSession]:
    request = checked_creation(translated(call.body, call.warnings), call.context.settings)
    async with fetched(call.body.skills.sources if call.body.skills else []) as skills:
        info = await call.sessions.create(session_id, request, call.receipt(_created))
        if info.directory is not None:
            await skills.copy_into(info.directory, call.warnings)
    await _warn_of_names(call, info)
    return _created(info)


async def _warn_of_names(call: Call[Nothing, T], session: SessionInfo) -> None:
    if session.tool_policies.tools or session.tool_policies.mcp:
        catalog = await call.sessions.agents.models(session.agent)
        call.warnings += unknown_names(session, catalog.tools)


_CREATE_ERRORS = (
    Forbidden,
    SessionExists,
    UnknownAgent,
    UnsupportedChoice,
    AgentNotInstalled,
    AgentFailed,
    NoRepository,
    GitFailed,
    StorageFull,
    Unavailable,
)


@routes.add("POST", "/v1/sessions", *_CREATE_ERRORS, effect=True)
async def create_session(call: Call[Nothing, CreateSessionRequest]) -> Encoded[CreatedSession]:
    """Create a session with a generated id."""
    return await _create(call, None)


@routes.add("POST", "/v1/sessions/{session_id}", *_CREATE_ERRORS, effect=True)
async def create_named_session(call: Call[Nothing, CreateSessionRequest]) -> Encoded[CreatedSession]:
    """Create a session with the given id."""
    return await _create(call, call.path["session_id"])


@routes.add("GET", "/v1/sessions/{session_id}", SessionNotFound)
async def get_session(call: Call[Nothing, Nothing]) -> SessionInfo:
    """Get a session."""
    return await call.sessions.get(call.path["session_id"])


@routes.add(
    "PATCH", "/v1/sessions/{session_id}", SessionNotFound, SessionHasEnded, UnsupportedChoice, AgentFailed, StorageFull
)
async def update_session(call: Call[Nothing, UpdateSession]) -> SessionInfo:
    """Change a session's model, variant, modes, title, metadata or tool policies."""
    info = await call.sessions.update(call.path["session_id"], call.body)
    if call.body.tool_policies is not UNSET:
        await _warn_of_names(call, info)
    return info


@routes.add("DELETE", "/v1/sessions/{session_id}", SessionNotFound, StorageFull)
async def delete_session(call: Call[Nothing, Nothing]) -> None:
    """Stop a session and delete all its data. Work in its worktree that was not merged stays on a branch."""
    left = await call.sessions.delete(call.path["session_id"])
    call.warnings += [left] if left else []


@routes.add("POST", "/v1/sessions/{session_id}/cancel", SessionNotFound, StorageFull, effect=True)
async def cancel_turn(call: Call[CancelQuery, Nothing]) -> Cancelled:
    """Stop the running turn and keep the session."""
    session_id = call.path["session_id"]
    if call.query.queued == "withdraw":
        return await call.sessions.cancel_all(session_id)
    return Cancelled(cancelled=await call.sessions.cancel(session_id))


@routes.add(
    "POST",
    "/v1/sessions/{session_id}/subagents/{item_id}/cancel",
    SessionNotFound,
    UnsupportedChoice,
    AgentFailed,
    StorageFull,
    effect=True,
)
async def cancel_subagent(call: Call[Nothing, Nothing]) -> Cancelled:
    """Stop the sub-agent that a tool call started, by the item of that call. The turn continues."""
    return Cancelled(cancelled=await call.sessions.cancel_subagent(call.path["session_id"], call.path["item_id"]))


@routes.add("POST", "/v1/sessions/{session_id}/terminate", SessionNotFound, StorageFull, effect=True)
async def terminate_session(call: Call[Nothing, Nothing]) -> None:
    """End a session and stop all processes of its agent. Can be repeated."""
    await call.sessions.terminate(call.path["session_id"])


@routes.add("POST", "/v1/sessions/{session_id}/fork", SessionNotFound, *_CREATE_ERRORS, effect=True)
async def fork_session(call: Call[Nothing, ForkSession]) -> Encoded[SessionInfo]:
    """Create a session that starts with a copy of this session's events, up to a sequence."""
    return encoded(await call.sessions.fork(call.path["session_id"], call.body, call.receipt(encoded)))


def _created(info: SessionInfo) -> Encoded[CreatedSession]:
    return encoded(CreatedSession(**msgspec.structs.asdict(info)))
