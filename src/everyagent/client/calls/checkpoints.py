"""Calls for the checkpoints of a session, and the rewind to one."""

from everyagent.client.call import ApiCall, decoded, get, path, post
from everyagent.model.checkpoints import CheckpointInfo, CheckpointList, Restored, RewindSession, RewoundSession

_list = decoded(CheckpointList)
_rewound = decoded(RewoundSession)


def checkpoints(session_id: str) -> ApiCall[list[CheckpointInfo]]:
    """The checkpoints of a session's files, oldest first."""
    return get(path("sessions", session_id, "checkpoints"), lambda response: _list(response).checkpoints)


def rewind(session_id: str, sequence: int, *, restore: Restored = "both") -> ApiCall[RewoundSession]:
    """Bring back the files, the conversation or both, as they were at an event. No event is deleted."""
    request = RewindSession(sequence=sequence, restore=restore)
    return post(path("sessions", session_id, "rewind"), _rewound, request)
