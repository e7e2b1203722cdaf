"""Calls for the git worktree of a session."""

from everyagent.client.call import ApiCall, decoded, get, nothing, params, path, post
from everyagent.model.worktrees import MergedWorktree, MergeWorktree, WorktreeState

_state = decoded(WorktreeState)
_merged = decoded(MergedWorktree)


def worktree(session_id: str) -> ApiCall[WorktreeState]:
    """The worktree of a session, with what is not merged yet."""
    return get(path("sessions", session_id, "worktree"), _state)


def merge(session_id: str, *, into: str | None = None, message: str | None = None) -> ApiCall[MergedWorktree]:
    """Merge a session's work into a branch, by default the one that the repository was on when the session began."""
    request = MergeWorktree(into=into, message=message)
    return post(path("sessions", session_id, "worktree", "merge"), _merged, request)


def drop(session_id: str, *, discard: bool = False) -> ApiCall[None]:
    """End a session and remove its worktree. Refused if it has work that is not merged, unless that is to `discard`."""
    place = path("sessions", session_id, "worktree")
    return ApiCall(method="DELETE", path=place, decode=nothing, params=params(discard=discard or None))
