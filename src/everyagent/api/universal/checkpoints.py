"""Routes that list a session's checkpoints and rewind it."""

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import (
    BadRequest,
    FilesChanged,
    GitFailed,
    OffsetOutOfRange,
    SessionBusy,
    SessionHasEnded,
    SessionNotFound,
    StorageFull,
    Unavailable,
)
from everyagent.model.checkpoints import CheckpointList, RewindSession, RewoundSession

routes = Routes("checkpoints")


@routes.add("GET", "/v1/sessions/{session_id}/checkpoints", SessionNotFound, GitFailed, Unavailable, on_owner=True)
async def list_checkpoints(call: Call[Nothing, Nothing]) -> CheckpointList:
    """List the checkpoints of a session's files, oldest first."""
    return CheckpointList(checkpoints=await call.sessions.checkpoints.all(call.path["session_id"]))


@routes.add(
    "POST",
    "/v1/sessions/{session_id}/rewind",
    SessionNotFound,
    BadRequest,
    OffsetOutOfRange,
    SessionBusy,
    SessionHasEnded,
    FilesChanged,
    GitFailed,
    StorageFull,
    effect=True,
)
async def rewind_session(call: Call[Nothing, RewindSession]) -> RewoundSession:
    """Bring back the files, the conversation or both, as they were at an event. No event is deleted."""
    return await call.sessions.rewind(call.path["session_id"], call.body)
