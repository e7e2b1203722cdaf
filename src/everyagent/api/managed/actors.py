"""Who asks: whoever has the daemon's token, or a session, by the key of its worker."""

from starlette.types import Scope

from everyagent.api.access_control import tokens
from everyagent.managed.memory.memory_shape import Actor, ApiActor, SessionActor
from everyagent.managed.work_queue.keys import Keys


def actor_of(scope: Scope, keys: Keys) -> Actor:
    """Of a request that was let in."""
    for token in tokens(scope["headers"]):
        if session_id := keys.session_of(token.decode("latin-1")):
            return SessionActor(session_id=session_id)
    return ApiActor()
