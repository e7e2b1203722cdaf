"""Who asks: whoever has the daemon's token, or a session, by the key of its worker."""

from starlette.types import Scope

from everyagent.api.access_control import tokens
from everyagent.managed.memory.memory_shape import ApiActor, MemoryActor, SessionActor
from everyagent.managed.work_queue.keys import WorkerKeys


def actor_of(scope: Scope, keys: WorkerKeys) -> MemoryActor:
    """Of a request that was let in."""
    for token in tokens(scope["headers"]):
        if session_id := keys.session_of(token.decode("latin-1")):
            return SessionActor(session_id=session_id)
    return ApiActor()
