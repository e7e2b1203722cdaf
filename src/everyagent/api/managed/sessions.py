"""Routes of managed sessions."""

from everyagent.api.routing import Call, Encoded, Nothing, Routes, encoded
from everyagent.errors import Conflict, NotFound, SessionNotFound
from everyagent.managed.resources.record_store import Deleted
from everyagent.managed.sessions.shape import ManagedSession, SessionCreate, SessionListQuery, SessionUpdate, TwoWayPage

routes = Routes("managed sessions")


@routes.add("POST", "/anthropic/v1/sessions", NotFound, effect=True, turns=True)
async def create_managed_session(call: Call[Nothing, SessionCreate]) -> Encoded[ManagedSession]:
    """Create a session. With `initial_events` it starts to work at once."""
    session = await call.managed.managed_sessions.create(call.body, call.receipt(encoded))
    call.warnings += await call.managed.credentials.unapplied(session.vault_ids)
    return encoded(session)


@routes.add("GET", "/anthropic/v1/sessions")
async def list_managed_sessions(call: Call[SessionListQuery, Nothing]) -> TwoWayPage[ManagedSession]:
    """List sessions, newest first by default."""
    return await call.managed.managed_sessions.list(call.query)


@routes.add("GET", "/anthropic/v1/sessions/{session_id}", SessionNotFound)
async def retrieve_managed_session(call: Call[Nothing, Nothing]) -> ManagedSession:
    """Retrieve a session."""
    return await call.managed.managed_sessions.retrieve(call.path["session_id"])


@routes.add("POST", "/anthropic/v1/sessions/{session_id}", SessionNotFound, Conflict, effect=True)
async def update_managed_session(call: Call[Nothing, SessionUpdate]) -> ManagedSession:
    """Change its title, metadata, budget, tools, MCP servers or vaults."""
    session = await call.managed.managed_sessions.update(call.path["session_id"], call.body)
    if call.body.vault_ids:
        call.warnings += await call.managed.credentials.unapplied(session.vault_ids)
    return session


@routes.add("POST", "/anthropic/v1/sessions/{session_id}/archive", SessionNotFound, Conflict, effect=True)
async def archive_managed_session(call: Call[Nothing, Nothing]) -> ManagedSession:
    """End a session. It can still be read."""
    return await call.managed.managed_sessions.archive(call.path["session_id"])


@routes.add("DELETE", "/anthropic/v1/sessions/{session_id}", SessionNotFound, Conflict, effect=True)
async def delete_managed_session(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete a session with its events and files."""
    return await call.managed.managed_sessions.delete(call.path["session_id"])
