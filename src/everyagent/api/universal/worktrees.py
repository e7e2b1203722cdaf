"""Routes of a session's git worktree."""

from msgspec import Struct

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import (
    FilesChanged,
    GitFailed,
    MergeConflict,
    NotFound,
    SessionBusy,
    SessionNotFound,
    StorageFull,
    WorkNotMerged,
)
from everyagent.model.worktrees import MergedWorktree, MergeWorktree, WorktreeState

routes = Routes("worktrees")


class DropQuery(Struct, frozen=True, kw_only=True):
    """With `discard`, changes that were not merged are lost."""

    discard: bool = False


@routes.add("GET", "/v1/sessions/{session_id}/worktree", SessionNotFound, NotFound, GitFailed, on_owner=True)
async def get_worktree(call: Call[Nothing, Nothing]) -> WorktreeState:
    """Get the worktree of a session, with what is not merged yet."""
    return await call.sessions.worktrees.state(call.path["session_id"])


@routes.add(
    "POST",
    "/v1/sessions/{session_id}/worktree/merge",
    SessionNotFound,
    NotFound,
    SessionBusy,
    MergeConflict,
    FilesChanged,
    GitFailed,
    effect=True,
)
async def merge_worktree(call: Call[Nothing, MergeWorktree]) -> MergedWorktree:
    """Merge a session's work into a branch, with the files that are not committed. Nothing changes if that fails."""
    return await call.sessions.worktrees.merge(call.path["session_id"], call.body)


@routes.add(
    "DELETE",
    "/v1/sessions/{session_id}/worktree",
    SessionNotFound,
    NotFound,
    WorkNotMerged,
    GitFailed,
    StorageFull,
)
async def drop_worktree(call: Call[DropQuery, Nothing]) -> None:
    """End a session, and remove its worktree and its branches. Its events are kept."""
    sessions = call.sessions
    await sessions.worktrees.drop(call.path["session_id"], sessions.terminate, discard=call.query.discard)
