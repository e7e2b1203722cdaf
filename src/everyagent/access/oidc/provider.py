"""A client of an OpenID provider: discovery, the authorization request, the exchange of the code, verification.

Everything from the provider is foreign input: bounded, decoded into structs, and refused with `SignInFailed`.
"""

import base64
import hashlib
import hmac
import time
from typing import TypeVar
from urllib.parse import quote, urlencode

import anyio
import httpx2
import jwt
import msgspec
from msgspec import Struct

from everyagent.access.oidc.attempt import SignInAttempt, SignInFailed
from everyagent.model.oidc import Claims, OidcSettings, is_safe_url

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
#: The difference of clocks that is tolerated.
_LEEWAY_SECONDS = 60
_LIMIT_SECONDS = 15.0
_MOST_BYTES = 1 << 20
#: Discovery and keys are read again after this time.
_FRESH_SECONDS = 3600.0
T = TypeVar("T")


class Discovery(Struct, frozen=True, kw_only=True):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class Tokens(Struct, frozen=True, kw_only=True):
    id_token: str
    access_token: str


class OidcProvider:
    def __init__(self, settings: OidcSettings) -> None:
        self._settings = settings
        self._discovery: tuple[float, Discovery] | None = None
        self._keys: tuple[float, jwt.PyJWKSet] | None = None

    async def authorization_url(self, attempt: SignInAttempt, redirect_uri: str) -> str:
        """The address of the provider to which the browser is sent."""
        discovery = await self._discovered()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest()).rstrip(b"=")
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(self._settings.request_scopes),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": challenge.decode(),
            "code_challenge_method": "S256",
        }
        address = discovery.authorization_endpoint
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    async def claims(self, attempt: SignInAttempt, code: str, redirect_uri: str) -> Claims:
        """The verified claims of the user who was sent back with the code."""
        discovery = await self._discovered()
        tokens = await self._exchange(discovery, attempt, code, redirect_uri)
        claims = await self._verified(discovery, tokens.id_token)
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), attempt.nonce.encode()):
            raise SignInFailed("the id token belongs to another sign-in")
        if claims.get("azp", self._settings.client_id) != self._settings.client_id:
            raise SignInFailed("the id token was issued to another client")
        if discovery.userinfo_endpoint is None:
            return claims
        headers = {"authorization": f"Bearer {tokens.access_token}"}
        user = await self._fetch("GET", discovery.userinfo_endpoint, Claims, headers=headers)
        if user.get("sub") != claims["sub"]:
            raise SignInFailed("the user info is of another user")
        return user | claims

    async def _exchange(self, discovery: Discovery, attempt: SignInAttempt, code: str, redirect_uri: str) -> Tokens:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": attempt.verifier,
        }
        headers: dict[str, str] = {}
        try:
            secret = self._settings.secret()
        except OSError as error:
            raise SignInFailed(f"the client secret cannot be read: {error}") from error
        client_id = self._settings.client_id
        if secret is None:
            form["client_id"] = client_id
        elif "client_secret_basic" in discovery.token_endpoint_auth_methods_supported:
            pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": client_id, "client_secret": secret}
        return await self._fetch("POST", discovery.token_endpoint, Tokens, headers=headers, form=form)

    async def _verified(self, discovery: Discovery, token: str) -> Claims:
        try:
            key = await self._key(discovery, jwt.get_unverified_header(token).get("kid"))
            claims: object = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self._settings.client_id,
                issuer=discovery.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": _REQUIRED},
            )
        except (jwt.PyJWTError, ValueError) as error:
            raise SignInFailed(f"the id token is not valid: {error}") from error
        return msgspec.convert(claims, Claims)

    async def _key(self, discovery: Discovery, kid: object) -> jwt.PyJWK:
        """The provider's key with this id. Keys are read again if none has it, because providers replace them."""
        if (found := _find(self._keys, kid)) is not None:
            return found
        document = await self._fetch("GET", discovery.jwks_uri, dict[str, object])
        self._keys = (time.monotonic(), jwt.PyJWKSet.from_dict(document))
        if (found := _find(self._keys, kid)) is None:
            raise SignInFailed("the id token is signed with a key that the provider does not publish")
        return found

    async def _discovered(self) -> Discovery:
        if self._discovery is not None and time.monotonic() - self._discovery[0] < _FRESH_SECONDS:
            return self._discovery[1]
        issuer = self._settings.issuer
        found = await self._fetch("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration", Discovery)
        if found.issuer != issuer:
            raise SignInFailed(f"the provider calls itself {found.issuer!r}, not {issuer!r}")
        if not is_safe_url(found.authorization_endpoint):
            raise SignInFailed(f"{found.authorization_endpoint!r} is not a safe address")
        self._discovery = (time.monotonic(), found)
        return found

    async def _fetch(
        self,
        method: str,
        url: str,
        kind: type[T],
        *,
        headers: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
    ) -> T:
        if not is_safe_url(url):
            raise SignInFailed(f"{url!r} is not a safe address: use https")
        body = b""
        try:
            with anyio.fail_after(_LIMIT_SECONDS):
                async with (
                    httpx2.AsyncClient(timeout=_LIMIT_SECONDS) as client,
                    client.stream(method, url, headers=headers, data=form) as response,
                ):
                    async for piece in response.aiter_bytes():
                        body += piece
                        if len(body) > _MOST_BYTES:
                            raise SignInFailed(f"{url} answered more than {_MOST_BYTES} bytes")
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
            raise SignInFailed(f"{url} does not answer: {type(error).__name__}") from error
        if response.status_code != 200:
            raise SignInFailed(f"{url} answered {response.status_code}")
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SignInFailed(f"{url} answered something else: {error}") from error


def _find(keys: tuple[float, jwt.PyJWKSet] | None, kid: object) -> jwt.PyJWK | None:
    """A token without a key id is verified with the only key for signatures."""
    if keys is None or time.monotonic() - keys[0] >= _FRESH_SECONDS:
        return None
    signing = [key for key in keys[1].keys if key.public_key_use in (None, "sig")]
    if kid is None:
        return signing[0] if len(signing) == 1 else None
    return next((key for key in signing if key.key_id == kid), None)
