"""The access log: one line for each response, without tokens, queries and bodies."""

from everyagent.api.asgi import Scope
from everyagent.api.streaming import KEY_ID
from everyagent.logs import get_logger

#: Routes whose paths hold a secret.
_SECRET = frozenset({"/answer"})
_LONGEST_PATH = 300
logger = get_logger("everyagent.access")


def log_response(scope: Scope, route: str, status: int, seconds: float, request_id: str) -> None:
    """`route` is empty if there is none for the path. A stream is logged when it begins."""
    client: tuple[str, int] | None = scope.get("client")
    logger.info(
        "request",
        method=scope["method"],
        path=route if route in _SECRET else scope["path"][:_LONGEST_PATH],
        route=route or None,
        status=status,
        milliseconds=round(seconds * 1000, 1),
        client=client[0] if client else None,
        key=scope.get(KEY_ID),
        request_id=request_id,
    )
