"""Access control: checks the Host, Origin and token of every request, and finds out whose token it is.

Keeps web pages from using the daemon, both across origins and by DNS rebinding.
"""

import hashlib
import hmac
import re
import time
from collections.abc import Awaitable, Callable, Collection, Iterable

from msgspec.structs import replace

from everyagent.access.keyring import Keyring
from everyagent.access.token_bucket import PeerLimits
from everyagent.api.asgi import Scope
from everyagent.api.owner_token import OwnerToken
from everyagent.errors import BadRequest, Forbidden, RateLimited, Unauthorized
from everyagent.model.principals import NOBODY, OWNER, Principal

#: With this header the owner acts in one workspace.
WORKSPACE_HEADER = b"x-everyagent-workspace"
#: The cookie with the key of somebody who signed in with OpenID Connect.
SESSION_COOKIE = "everyagent_session"
#: Wrong tokens that a peer may send in a minute. A right token is never refused for them.
WRONG_TOKENS = 120
_WORKSPACE = re.compile(rb"[a-z0-9][a-z0-9_-]{0,62}")


class AccessControl:
    """`hosts` are accepted names, alone or with any port, or whole `Host` values.

    `public` says whether a path needs no token. Without an owner's token, no path does. `limited` returns the
    principal of a token of limited use, if it allows the request. `forwarded` returns the principal of a request that
    another node of the cluster has checked.
    """

    def __init__(
        self,
        *,
        owner: OwnerToken,
        hosts: Collection[str],
        origins: Collection[str],
        public: Callable[[str], bool],
        keys: Keyring | None,
        limited: Callable[[str, Scope], Awaitable[Principal | None]],
        forwarded: Callable[[Scope], Principal | None] | None = None,
    ) -> None:
        self._owner = owner
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower() for origin in origins)
        self._public = public
        self._keys = keys
        self._limited = limited
        self._forwarded = forwarded
        self._wrong = PeerLimits(WRONG_TOKENS)

    async def check(self, scope: Scope) -> Principal:
        """Raises `Forbidden`, `Unauthorized` or `RateLimited`."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        host = self._checked_host(_all(headers, b"host"))
        for origin in _all(headers, b"origin"):
            if origin not in (f"http://{host}", f"https://{host}") and origin not in self._origins:
                raise Forbidden(
                    f"The origin {origin!r} may not use this daemon. Send the request from the daemon's own origin, or "
                    "allow this one with `serve --allowed-origin`.",
                    origin=origin,
                )
        if self._public(scope["path"]):
            return NOBODY
        if self._forwarded is not None and (principal := self._forwarded(scope)) is not None:
            return principal
        return _in_named_workspace(await self._principal(scope), headers)

    def _checked_host(self, hosts: list[str]) -> str:
        if len(hosts) != 1:
            raise Forbidden("The request must have exactly one Host header.")
        host = hosts[0]
        # Nobody else can point one of these names at this daemon, so its port says nothing: a tunnel, a proxy or a
        # container may have another one.
        name, _, port = host.rpartition(":")
        if host in self._hosts or (name in self._hosts and port.isdecimal()):
            return host
        raise Forbidden(
            f"This daemon does not accept requests for {host!r}. Use the address that it printed at its start, or "
            "allow this name with `serve --allowed-host`.",
            host=host,
        )

    async def _principal(self, scope: Scope) -> Principal:
        owner = self._owner.digest()
        given = list(tokens(scope["headers"]))
        for token in given:
            digest = hashlib.sha256(token).digest()
            if owner is not None and hmac.compare_digest(digest, owner):
                return OWNER
            if self._keys is not None and (found := self._keys.find(digest)) is not None:
                return found
        for token in given:
            if (found := await self._limited(token.decode("latin-1"), scope)) is not None:
                return found
        if owner is None:
            return OWNER
        if not given:
            raise Unauthorized(
                "The request needs the daemon's token: `Authorization: Bearer <token>` or `x-api-key: <token>`."
            )
        client: tuple[str, int] | None = scope.get("client")
        if seconds := self._wrong.take(client[0] if client else "", time.monotonic()):
            raise RateLimited(
                f"Too many wrong tokens came from this address. Try again in {seconds:.1f} seconds; requests with a "
                "right token are answered.",
                retryAfter=seconds,
            )
        raise Unauthorized("The token is wrong, revoked or expired. `everyagent token` prints the owner's.")


def _in_named_workspace(principal: Principal, headers: list[tuple[bytes, bytes]]) -> Principal:
    named = next((value for name, value in headers if name == WORKSPACE_HEADER), None)
    if named is None:
        return principal
    if not _WORKSPACE.fullmatch(named):
        raise BadRequest("`x-everyagent-workspace` must be 1 to 63 of a-z, 0-9, `-` and `_`.")
    workspace = named.decode()
    if not principal.sees(workspace):
        raise Forbidden(f"This key belongs to the workspace {principal.workspace!r}, not {workspace!r}.")
    return replace(principal, workspace=workspace, creates_in=workspace)


def tokens(headers: list[tuple[bytes, bytes]]) -> Iterable[bytes]:
    """The tokens of the request; only without any, the one in its cookie."""
    given = list(_in_headers(headers))
    # A cookie is sent by the browser on its own, so it counts only for requests of our own pages.
    if not given and _all(headers, b"sec-fetch-site") in ([], ["same-origin"]):
        value = cookie(headers, SESSION_COOKIE)
        return [] if value is None else [value.encode("latin-1")]
    return given


def _in_headers(headers: list[tuple[bytes, bytes]]) -> Iterable[bytes]:
    for name, value in headers:
        if name == b"x-api-key":
            yield value.strip()
        elif name == b"authorization":
            scheme, _, token = value.partition(b" ")
            if scheme.lower() == b"bearer":
                yield token.strip()


def cookie(headers: list[tuple[bytes, bytes]], wanted: str) -> str | None:
    for header, value in headers:
        if header == b"cookie":
            for pair in value.decode("latin-1").split(";"):
                name, _, text = pair.strip().partition("=")
                if name == wanted:
                    return text.strip('"')
    return None


def _all(headers: list[tuple[bytes, bytes]], wanted: bytes) -> list[str]:
    return [value.decode("latin-1").lower() for name, value in headers if name == wanted]
