"""OAuth for MCP servers: checks tokens and refreshes them."""

import asyncio
import base64
from urllib.parse import quote

import httpx2
import msgspec
from msgspec import Struct

from everyagent.managed.resources.vaults.shape import HttpAnswer, Probe, Refresh, RefreshOutcome, Secrets

_LIMIT_SECONDS = 15.0
_WHOLE_SECONDS = 30.0
_SHOWN_BYTES = 2000
_READ_BYTES = 64 << 10
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "everyagent", "version": "1"},
    },
}


class OauthTokens(Struct, frozen=True, kw_only=True):
    access_token: str
    refresh_token: str | None = None
    expires_in: int | None = None


async def probe(url: str, token: str) -> Probe:
    """Sends MCP's `initialize` with the token."""
    headers = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}
    answer = await _post(url, headers, json=_INITIALIZE, hidden=[token])
    return Probe(method="initialize", http_response=None if answer is None else answer[0])


def refused(probe: Probe) -> bool:
    return probe.http_response is not None and probe.http_response.status_code in (401, 403)


def status(probe: Probe) -> str:
    if probe.http_response is None or probe.http_response.status_code >= 500:
        return "unknown"
    return "invalid" if refused(probe) else "valid" if probe.http_response.status_code < 300 else "unknown"


async def renew(refresh: Refresh, secrets: Secrets) -> tuple[RefreshOutcome, OauthTokens | None]:
    """Refreshes an access token (RFC 6749, section 6)."""
    assert secrets.refresh_token
    form = {"grant_type": "refresh_token", "refresh_token": secrets.refresh_token}
    form |= {"resource": refresh.resource} if refresh.resource else {}
    form |= {"scope": refresh.scope} if refresh.scope else {}
    headers = {"accept": "application/json"}
    client_secret = secrets.client_secret or ""
    match refresh.token_endpoint_auth.type:
        case "client_secret_basic":
            pair = f"{quote(refresh.client_id, safe='')}:{quote(client_secret, safe='')}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        case "client_secret_post":
            form |= {"client_id": refresh.client_id, "client_secret": client_secret}
        case _:
            form |= {"client_id": refresh.client_id}
    hidden = [secrets.refresh_token, *([client_secret] if client_secret else [])]
    answer = await _post(refresh.token_endpoint, headers, form=form, hidden=hidden)
    if answer is None:
        return RefreshOutcome(status="connect_error", http_response=None), None
    shown, body = answer
    try:
        tokens = msgspec.json.decode(body, type=OauthTokens) if shown.status_code < 300 else None
    except msgspec.DecodeError:
        tokens = None
    if tokens is None:
        return RefreshOutcome(status="failed", http_response=shown), None
    # The response holds the new tokens, so it is not shown.
    return RefreshOutcome(status="succeeded", http_response=None), tokens


async def _post(
    url: str,
    headers: dict[str, str],
    *,
    json: object = None,
    form: dict[str, str] | None = None,
    hidden: list[str],
) -> tuple[HttpAnswer, bytes] | None:
    """The response with our secrets masked, and its raw body; None without a response."""
    try:
        async with (
            asyncio.timeout(_WHOLE_SECONDS),
            httpx2.AsyncClient(timeout=_LIMIT_SECONDS) as client,
            client.stream("POST", url, headers=headers, json=json, data=form) as response,
        ):
            body = b""
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > _READ_BYTES or (json is not None and len(body) > _SHOWN_BYTES):
                    break
                if response.headers.get("content-type", "").startswith("text/event-stream"):
                    break
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError):
        return None
    text = body.decode("utf-8", "replace")
    for secret in hidden:
        text = text.replace(secret, "***")
    shown = HttpAnswer(
        status_code=response.status_code,
        content_type=response.headers.get("content-type", ""),
        body=text[:_SHOWN_BYTES],
        body_truncated=len(text) > _SHOWN_BYTES,
    )
    return shown, body
