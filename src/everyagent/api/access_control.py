"""Access control: checks the Host, Origin and token of every request.

Keeps web pages from using the daemon, both across origins and by DNS rebinding.
"""

import hashlib
import hmac
from collections.abc import Callable, Collection, Iterable

from starlette.types import Scope

from everyagent.errors import Forbidden, Unauthorized


class AccessControl:
    """`hosts` are accepted names, alone or with the port of the connection, or whole `Host` values.

    `public` says whether a path needs no token. Without a `token`, no path does. `allows` says whether a token of
    limited scope allows a request.
    """

    def __init__(
        self,
        *,
        token: str | None,
        hosts: Collection[str],
        origins: Collection[str],
        public: Callable[[str], bool],
        allows: Callable[[str, Scope], bool],
    ) -> None:
        self._token = None if token is None else _digest(token.encode())
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower() for origin in origins)
        self._public = public
        self._allows = allows

    def check(self, scope: Scope) -> None:
        """Raises `Forbidden` or `Unauthorized`."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        host = self._checked_host(_all(headers, b"host"), scope)
        for origin in _all(headers, b"origin"):
            if origin not in (f"http://{host}", f"https://{host}") and origin not in self._origins:
                raise Forbidden(
                    f"The origin {origin!r} may not use this daemon. Send the request from the daemon's own origin.",
                    origin=origin,
                )
        if self._token is not None and not self._public(scope["path"]):
            self._check_token(self._token, scope)

    def _checked_host(self, hosts: list[str], scope: Scope) -> str:
        if len(hosts) != 1:
            raise Forbidden("The request must have exactly one Host header.")
        host = hosts[0]
        if host in self._hosts:
            return host
        name, port = _split(host)
        server: tuple[str, int | None] | None = scope.get("server")
        if name in self._hosts and server is not None and port == server[1]:
            return host
        raise Forbidden(
            f"This daemon does not accept requests for {host!r}. Use the address that it printed at its start.",
            host=host,
        )

    def _check_token(self, token: bytes, scope: Scope) -> None:
        given = list(tokens(scope["headers"]))
        if not given:
            raise Unauthorized(
                "The request needs the daemon's token: `Authorization: Bearer <token>` or `x-api-key: <token>`."
            )
        if any(hmac.compare_digest(_digest(candidate), token) for candidate in given):
            return
        if not any(self._allows(candidate.decode("latin-1"), scope) for candidate in given):
            raise Unauthorized("The token is wrong. `everyagent token` prints the right one.")


def tokens(headers: list[tuple[bytes, bytes]]) -> Iterable[bytes]:
    for name, value in headers:
        if name == b"x-api-key":
            yield value.strip()
        elif name == b"authorization":
            scheme, _, token = value.partition(b" ")
            if scheme.lower() == b"bearer":
                yield token.strip()


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _all(headers: list[tuple[bytes, bytes]], wanted: bytes) -> list[str]:
    return [value.decode("latin-1").lower() for name, value in headers if name == wanted]


def _split(host: str) -> tuple[str, int]:
    """`localhost:2468` -> (`localhost`, 2468); the brackets of an IPv6 address stay with the name."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        return host, 80
    return name, int(port) if port.isascii() and port.isdigit() else -1
