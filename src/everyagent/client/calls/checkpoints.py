"""Calls for the checkpoints of a session, and the rewind to one."""

from everyagent.client.call import ApiCall, decoded, get, path, post
from everyagent.model.checkpoints import CheckpointInfo, CheckpointList, Restored, RewindSession, RewoundSession

_list = decoded(CheckpointList)
_rewound = decoded(RewoundSession)


def checkpoints(session_id: str) -> ApiCall[list[CheckpointInfo]]:
    """The checkpoints of a session's files, oldest first."""
    return get(path("sessions", session_id, "checkpoints"), lambda response: _list(response).checkpoints)


def rewind(
    session_id: str, sequence: int, *, restore: Restored = "both", dry_run: bool = False
) -> ApiCall[RewoundSession]:
    """Bring back the files, the conversation or both, as they were at an event. No event is deleted.

    With `dry_run` nothing changes: the result, or the error, is that of a rewind.
    """
    request = RewindSession(sequence=sequence, restore=restore, dry_run=dry_run)
    return post(path("sessions", session_id, "rewind"), _rewound, request)
