"""Links with which a person answers an ask: signed, and valid for a limited time. No I/O.

Each counts once, because an ask takes one answer only.
"""

import base64
import binascii
import hmac
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from everyagent.clock import Clock

PATH: Final = "/answer/"
VALID_SECONDS: Final = 86_400
_SIGNATURE_BYTES: Final = 32


class AnswerLink(Struct, frozen=True, array_like=True):
    """`expires_at` is in seconds since 1970."""

    webhook_id: str
    session_id: str
    ask_id: str
    expires_at: int


_links = msgspec.json.Decoder(AnswerLink)


class AnswerLinks:
    """`base` is the address at which people reach the daemon."""

    def __init__(self, key: bytes, base: str, clock: Clock) -> None:
        self._key = key
        self._base = base.rstrip("/")
        self._clock = clock

    def url(self, webhook_id: str, session_id: str) -> Callable[[str], str]:
        """Makes links for the asks of a session."""

        def made(ask_id: str) -> str:
            expires_at = self._clock.micros() // 1_000_000 + VALID_SECONDS
            return self._base + PATH + self.token(AnswerLink(webhook_id, session_id, ask_id, expires_at))

        return made

    def token(self, link: AnswerLink) -> str:
        body = msgspec.json.encode(link)
        return base64.urlsafe_b64encode(self._signature(body) + body).rstrip(b"=").decode()

    def opened(self, token: str) -> AnswerLink | None:
        """None unless this daemon signed it. It may have expired."""
        try:
            raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except (binascii.Error, ValueError):
            return None
        signature, body = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
        return _links.decode(body) if hmac.compare_digest(signature, self._signature(body)) else None

    def expired(self, link: AnswerLink) -> bool:
        return link.expires_at * 1_000_000 <= self._clock.micros()

    def _signature(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")
