"""The pages of the inspector's sign-in with OpenID Connect, below `/ui/oidc`. They need no token.

A sign-in makes an API key with an expiry. The browser keeps it in a cookie that scripts cannot read.
"""

import hmac
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

from everyagent.access.keyring import Keyring
from everyagent.access.oidc.attempt import SignInAttempt, SignInFailed
from everyagent.api.access_control import SESSION_COOKIE, cookie
from everyagent.api.asgi import Scope
from everyagent.api.request_decoding import header
from everyagent.api.response import Response, redirect
from everyagent.errors import MethodNotAllowed
from everyagent.logs import get_logger
from everyagent.model.keys import CreateKey
from everyagent.model.oidc import Claims, OidcSettings

if TYPE_CHECKING:
    from everyagent.access.oidc.provider import OidcProvider

ROOT: Final = "/ui/oidc"
CALLBACK: Final = f"{ROOT}/callback"
_OPTIONS, _SIGN_OUT = f"{ROOT}/options", f"{ROOT}/sign-out"
_METHODS = {ROOT: "GET", CALLBACK: "GET", _OPTIONS: "GET", _SIGN_OUT: "POST"}
_ATTEMPT_COOKIE = "everyagent_sign_in"
_ATTEMPT_SECONDS = 600
_NAME_LENGTH = 100
logger = get_logger(__name__)


class Options(Struct, frozen=True, kw_only=True):
    """`name` is that of the provider, None if one cannot sign in with one."""

    name: str | None


class SignIn:
    def __init__(self, settings: OidcSettings | None, keys: Keyring | None) -> None:
        self._settings = settings
        self._keys = keys
        self._provider = None if settings is None else _provider(settings)

    @staticmethod
    def covers(path: str) -> bool:
        return path in _METHODS

    async def answer(self, scope: Scope) -> Response:
        path, method = scope["path"], _METHODS[scope["path"]]
        if scope["method"] != method:
            raise MethodNotAllowed(f"{path} supports {method} only.", allow=[method])
        if path == _OPTIONS:
            return _json(Options(name=self._settings.name if self._settings else None))
        settings, provider, keys = self._settings, self._provider, self._keys
        if settings is None or provider is None or keys is None:
            return _back(scope, "unavailable")
        if path == _SIGN_OUT:
            return await self._sign_out(scope, keys)
        if path == ROOT:
            return await self._start(scope, provider)
        return await self._finish(scope, settings, provider, keys)

    async def _start(self, scope: Scope, provider: "OidcProvider") -> Response:
        attempt = SignInAttempt.new()
        try:
            address = await provider.authorization_url(attempt, self._redirect_uri(scope))
        except SignInFailed as error:
            logger.warning("a sign-in failed", why=str(error))
            return _back(scope, "provider")
        response = redirect(address)
        self._set_cookie(scope, response, _ATTEMPT_COOKIE, attempt.packed(), _ATTEMPT_SECONDS, strict=False)
        return response

    async def _finish(self, scope: Scope, settings: OidcSettings, provider: "OidcProvider", keys: Keyring) -> Response:
        query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20)
        state, code = query.get("state", [""])[0], query.get("code", [""])[0]
        attempt = SignInAttempt.unpacked(cookie(scope["headers"], _ATTEMPT_COOKIE) or "")
        if attempt is None or not hmac.compare_digest(attempt.state.encode(), state.encode()):
            return _back(scope, "expired")
        if query.get("iss", [settings.issuer])[0] != settings.issuer or not code:
            return self._ended(scope, _back(scope, "refused"))
        try:
            claims = await provider.claims(attempt, code, self._redirect_uri(scope))
        except SignInFailed as error:
            logger.warning("a sign-in failed", why=str(error))
            return self._ended(scope, _back(scope, "provider"))
        grant = settings.grant(claims)
        if grant is None:
            logger.warning("a user of the provider may not sign in", subject=claims["sub"])
            return self._ended(scope, _back(scope, "denied"))
        asked = CreateKey(
            name=_name(claims),
            scopes=grant.scopes,
            workspace=grant.workspace,
            expires_at=keys.now() // 1000 + settings.lifetime * 1000,
        )
        made = await keys.sign_in(asked, operation=f"GET {CALLBACK}", subject=str(claims["sub"]))
        response = self._ended(scope, redirect(f"{scope['root_path']}/ui/"))
        self._set_cookie(scope, response, SESSION_COOKIE, made.secret, settings.lifetime, strict=True)
        return response

    async def _sign_out(self, scope: Scope, keys: Keyring) -> Response:
        if secret := cookie(scope["headers"], SESSION_COOKIE):
            await keys.sign_out(secret, operation=f"POST {_SIGN_OUT}")
        response = Response(status_code=204)
        self._set_cookie(scope, response, SESSION_COOKIE, "", 0, strict=True)
        return response

    def _redirect_uri(self, scope: Scope) -> str:
        assert self._settings
        requested = f"{scope['scheme']}://{header(scope, b'host') or ''}"
        return f"{self._settings.url or requested}{scope['root_path']}{CALLBACK}"

    def _set_cookie(
        self, scope: Scope, response: Response, name: str, value: str, seconds: int, *, strict: bool
    ) -> None:
        # The provider's redirect comes from another site: the cookie of the attempt must be sent with it.
        path, same_site = ("/", "strict") if strict else (ROOT, "lax")
        secure = self._redirect_uri(scope).startswith("https:")
        response.set_cookie(name, value, seconds, path=scope["root_path"] + path, same_site=same_site, secure=secure)

    def _ended(self, scope: Scope, response: Response) -> Response:
        """The attempt cannot be used again."""
        self._set_cookie(scope, response, _ATTEMPT_COOKIE, "", 0, strict=False)
        return response


def _provider(settings: OidcSettings) -> "OidcProvider":
    """Loaded when needed: its library is optional. `config.load` has checked that it is installed."""
    from everyagent.access.oidc.provider import OidcProvider

    return OidcProvider(settings)


def _back(scope: Scope, problem: str) -> Response:
    """To the sign-in page, which has a sentence for each problem."""
    return redirect(f"{scope['root_path']}/ui/?problem={problem}")


def _json(answer: Struct) -> Response:
    headers = {"cache-control": "no-store", "content-type": "application/json"}
    return Response(msgspec.json.encode(answer), headers=headers)


def _name(claims: Claims) -> str:
    """A name for people: never empty, and not longer than that of a key."""
    named = (claims.get(claim) for claim in ("email", "preferred_username", "name", "sub"))
    return next((each for each in named if isinstance(each, str) and each.strip()), "unnamed")[:_NAME_LENGTH]
