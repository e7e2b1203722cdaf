"""Idempotency-Key: a repeated POST with the same key has no second effect and gets the first response again."""

import hashlib
from collections.abc import Awaitable, Callable

import anyio

from everyagent.api.asgi import ASGIApp, Scope
from everyagent.api.request_decoding import header
from everyagent.api.response import Response
from everyagent.errors import BadRequest, KeyReused
from everyagent.model.principals import Principal
from everyagent.sessions import Receipt, Sessions

STREAM = "text/event-stream"


class Key:
    """An Idempotency-Key with the fingerprint of its request.

    `earlier` is the receipt of a stream that was started with this key before; the handler streams it again.
    """

    def __init__(self, value: str, fingerprint: str) -> None:
        self.value = value
        self.fingerprint = fingerprint
        self.kept = False
        self.earlier: Receipt | None = None

    def receipt(self, answer: Response) -> Receipt:
        """The receipt of a response. The caller stores it in one transaction with the effect."""
        self.kept = True
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        return self._receipt(answer.status_code, bytes(answer.body), headers)

    def stream_receipt(self, item_id: str) -> Receipt:
        """The receipt of a response that streams the turn of a message."""
        self.kept = True
        return self._receipt(200, b"", {"content-type": STREAM, "x-item-id": item_id})

    def _receipt(self, status: int, body: bytes, headers: dict[str, str]) -> Receipt:
        return Receipt(key=self.value, fingerprint=self.fingerprint, status=status, body=body, headers=headers)


def key_of(scope: Scope, digest: bytes, principal: Principal) -> Key | None:
    """The Idempotency-Key of a request, if it has one. `digest` is the SHA-256 of the body.

    Each principal has its own: no client's key has a space.
    """
    value = header(scope, b"idempotency-key")
    if value is None:
        return None
    if not 1 <= len(value) <= 255 or not all("!" <= character <= "~" for character in value):
        raise BadRequest("An Idempotency-Key must have 1 to 255 visible ASCII characters.", field="Idempotency-Key")
    what = hashlib.sha256(f"{scope['method']} {scope['path']}?".encode() + scope["query_string"] + b"\n" + digest)
    own = "" if principal.workspace is None else f"{principal.key_id}@{principal.workspace} "
    return Key(own + value, what.hexdigest())


class Idempotency:
    """Runs requests with a key once. A second request with the same key waits for the first."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._running: dict[str, anyio.Event] = {}

    async def once(self, key: Key, work: Callable[[], Awaitable[ASGIApp]]) -> ASGIApp:
        while (first := self._running.get(key.value)) is not None:
            await first.wait()
        done = self._running[key.value] = anyio.Event()
        try:
            key.earlier = await self._sessions.receipt(key.value)
            if key.earlier is not None and not _streams(key.earlier, key):
                return _again(key.earlier)
            try:
                answer = await work()
            except KeyReused:
                # The session's former owner committed the same request after the first look.
                key.earlier = await self._sessions.receipt(key.value)
                if key.earlier is None:
                    raise
                return await work() if _streams(key.earlier, key) else _again(key.earlier)
            if not key.kept and isinstance(answer, Response) and answer.status_code < 300:
                await self._sessions.keep_receipt(key.receipt(answer))
            return answer
        finally:
            del self._running[key.value]
            done.set()


def _streams(receipt: Receipt, key: Key) -> bool:
    if receipt.fingerprint != key.fingerprint:
        raise KeyReused("This Idempotency-Key was used for another request before. Use a new key for each new request.")
    return receipt.headers.get("content-type") == STREAM


def _again(receipt: Receipt) -> Response:
    return Response(receipt.body, receipt.status, receipt.headers | {"idempotent-replayed": "true"})
