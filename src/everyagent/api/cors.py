"""Cross-origin requests of web pages that the operator allowed (`serve --allowed-origin`)."""

from collections.abc import Collection

from everyagent.api.asgi import Scope
from everyagent.api.request_decoding import header
from everyagent.api.response import Response

_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
_EXPOSED = "x-item-id, x-request-id, request-id, x-everyagent-warning, retry-after"
_SECONDS = "600"


class Cors:
    """The header `Origin` itself is checked by the access control, for every request."""

    def __init__(self, origins: Collection[str]) -> None:
        self._origins = frozenset(origin.lower() for origin in origins)

    def preflight(self, scope: Scope) -> Response | None:
        """The answer to the question of a browser whether a page may send a request. It never has a token."""
        if scope["method"] != "OPTIONS" or not self._allows(scope):
            return None
        if header(scope, b"access-control-request-method") is None:
            return None
        asked = header(scope, b"access-control-request-headers") or ""
        allowed = {
            "access-control-allow-methods": _METHODS,
            "access-control-allow-headers": asked,
            "access-control-max-age": _SECONDS,
        }
        return Response(status_code=204, headers=allowed)

    def headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Headers of every response to an allowed page; none for any other."""
        if not self._origins:
            return []
        origin = header(scope, b"origin")
        if origin is None or not self._allows(scope):
            return [(b"vary", b"origin")]
        return [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", _EXPOSED.encode()),
            (b"vary", b"origin"),
        ]

    def _allows(self, scope: Scope) -> bool:
        return (header(scope, b"origin") or "").lower() in self._origins
