"""Signatures of requests that one node forwards to another, with the principal on whose behalf it does. No I/O."""

import base64
import hashlib
import hmac
from typing import Final

import msgspec
from msgspec import Struct

from everyagent.errors import Unauthorized, Unavailable
from everyagent.model.principals import Principal

HEADER: Final = b"x-everyagent-forwarded"
#: A forwarded request is valid for so many microseconds, by the database's clock.
VALID_MICROS: Final = 60_000_000


class Forwarded(Struct, frozen=True, kw_only=True):
    """`target` is the id of the node that may answer; `at` is the database's time, in microseconds.

    `path` has the query; `key` is the Idempotency-Key; `digest` is that of the body, None for one that is streamed.
    """

    target: str
    at: int
    method: str
    path: str
    principal: Principal
    key: str | None = None
    digest: str | None = None


def signed(forwarded: Forwarded, key: bytes) -> str:
    body = base64.urlsafe_b64encode(msgspec.json.encode(forwarded))
    return f"{body.decode()}.{_signature(body, key)}"


def verified(header: str, key: bytes, *, target: str, now: int, method: str, path: str) -> Forwarded:
    """Raises `Unauthorized` unless a node of this cluster signed it, for this request.

    Raises `Unavailable` if it was for another node or too long ago: this one may have joined anew meanwhile.
    """
    body, _, signature = header.partition(".")
    if not hmac.compare_digest(_signature(body.encode("latin-1"), key).encode(), signature.encode("latin-1")):
        raise Unauthorized("The request was forwarded by a node that does not have this cluster's vault key.")
    found = msgspec.json.decode(base64.urlsafe_b64decode(body), type=Forwarded)
    if (found.method, found.path) != (method, path):
        raise Unauthorized("The node that forwarded the request signed another one.")
    if found.target != target or abs(found.at - now) > VALID_MICROS:
        raise Unavailable(
            "The request was forwarded to a node that has left the cluster since, or too long ago. Nothing was "
            "changed; try again."
        )
    return found


def body_digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _signature(body: bytes, key: bytes) -> str:
    return hmac.digest(key, body, "sha256").hex()
