"""Idempotency-Key: a POST sent again with the same key gets the first answer again, and has no second effect."""

import hashlib
from collections.abc import Awaitable, Callable

import anyio
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from everyagent.api.reading import header
from everyagent.errors import BadRequest, Conflict, KeyReused
from everyagent.sessions import Receipt, Sessions

STREAM = "text/event-stream"


class Key:
    """A key, and the fingerprint of the request it came with."""

    def __init__(self, value: str, fingerprint: str) -> None:
        self.value = value
        self.fingerprint = fingerprint
        self.kept = False

    def receipt(self, answer: ASGIApp) -> Receipt:
        """Whoever asks for it keeps it, in one transaction with the effect."""
        self.kept = True
        status, body, headers = 200, b"", {"content-type": STREAM}
        if isinstance(answer, Response):
            status, body = answer.status_code, bytes(answer.body)
            headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        return Receipt(key=self.value, fingerprint=self.fingerprint, status=status, body=body, headers=headers)


def key_of(scope: Scope, digest: bytes) -> Key | None:
    """`digest` is the SHA-256 of the body."""
    value = header(scope, b"idempotency-key")
    if value is None:
        return None
    if not 1 <= len(value) <= 255 or not all("!" <= character <= "~" for character in value):
        raise BadRequest("An Idempotency-Key is 1 to 255 visible ASCII characters.", field="Idempotency-Key")
    what = hashlib.sha256(f"{scope['method']} {scope['path']}?".encode() + scope["query_string"] + b"\n" + digest)
    return Key(value, what.hexdigest())


class Idempotency:
    """Keeps receipts, and lets a second request wait for the first that has the same key."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._running: dict[str, anyio.Event] = {}

    async def once(self, key: Key, work: Callable[[], Awaitable[ASGIApp]]) -> ASGIApp:
        while (first := self._running.get(key.value)) is not None:
            await first.wait()
        done = self._running[key.value] = anyio.Event()
        try:
            earlier = await self._sessions.receipt(key.value)
            if earlier is not None:
                return _again(earlier, key)
            answer = await work()
            if not key.kept and (not isinstance(answer, Response) or answer.status_code < 300):
                await self._sessions.keep_receipt(key.receipt(answer))
            return answer
        finally:
            del self._running[key.value]
            done.set()


def _again(receipt: Receipt, key: Key) -> Response:
    if receipt.fingerprint != key.fingerprint:
        raise KeyReused("This Idempotency-Key came with another request before. Use a new key for a new request.")
    if receipt.headers.get("content-type") == STREAM:
        raise Conflict("This message was accepted before. Its events are at the session's /events/sse.")
    return Response(receipt.body, receipt.status, receipt.headers | {"idempotent-replayed": "true"})
