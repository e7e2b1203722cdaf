"""Signatures of callbacks and webhooks by the rules of Standard Webhooks (standardwebhooks.com). No I/O."""

import base64
import binascii
import hmac
import secrets
from collections.abc import Iterable
from typing import Final

from everyagent.errors import SignatureInvalid

ID_HEADER: Final = "webhook-id"
TIMESTAMP_HEADER: Final = "webhook-timestamp"
SIGNATURE_HEADER: Final = "webhook-signature"
#: A signed request is accepted for so many seconds before and after its timestamp.
TOLERANCE_SECONDS: Final = 300
_PREFIX: Final = "whsec_"
_SECRET_BYTES: Final = 32


def new_secret() -> str:
    """A random secret in the form that receivers take: `whsec_` and base64."""
    return encoded_secret(secrets.token_bytes(_SECRET_BYTES))


def encoded_secret(secret: bytes) -> str:
    return _PREFIX + base64.b64encode(secret).decode()


def decoded_secret(text: str) -> bytes:
    """Raises `ValueError` if the text is not a secret of at least 24 bytes, which the specification demands."""
    try:
        secret = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError(f"The secret is not base64 after {_PREFIX}.") from error
    if len(secret) < 24:
        raise ValueError("The secret has fewer than 24 bytes.")
    return secret


def derived_secret(secret: bytes, *, salt: bytes, info: bytes) -> bytes:
    """32 bytes derived with HKDF-SHA256 (RFC 5869). They do not reveal the secret, nor those of another `info`."""
    return hmac.digest(hmac.digest(salt, secret, "sha256"), info + b"\x01", "sha256")


def sign(secret: bytes, id: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature`. `id` must not contain a dot: it separates the signed parts."""
    return "v1," + base64.b64encode(_digest(secret, id, timestamp, body)).decode()


def signed_headers(secret: bytes, id: str, timestamp: int, body: bytes) -> dict[str, str]:
    return {
        ID_HEADER: id,
        TIMESTAMP_HEADER: str(timestamp),
        SIGNATURE_HEADER: sign(secret, id, timestamp, body),
    }


def verify(secrets: Iterable[bytes], id: str, timestamp: str, signature: str, body: bytes, *, now: float) -> None:
    """Raises `SignatureInvalid` unless one of the secrets signed this body recently.

    `timestamp` and `signature` are the headers as received. The latter may have several signatures, separated by
    spaces; those of unknown versions are ignored. The comparison takes the same time for every wrong signature.
    """
    if not id or "." in id:
        raise SignatureInvalid(f"The header {ID_HEADER} is missing or has a dot.")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 16):
        raise SignatureInvalid(f"The header {TIMESTAMP_HEADER} is not a number of seconds since 1970.")
    sent = int(timestamp)
    if abs(now - sent) > TOLERANCE_SECONDS:
        raise SignatureInvalid(
            f"The request was signed more than {TOLERANCE_SECONDS} seconds ago or ahead. Check the sender's clock."
        )
    given = [part.removeprefix("v1,").encode() for part in signature.split(" ") if part.startswith("v1,")]
    for secret in secrets:
        wanted = base64.b64encode(_digest(secret, id, sent, body))
        if any(hmac.compare_digest(wanted, candidate) for candidate in given):
            return
    raise SignatureInvalid("The signature does not match the request.")


def _digest(secret: bytes, id: str, timestamp: int, body: bytes) -> bytes:
    return hmac.digest(secret, b"%b.%d.%b" % (id.encode(), timestamp, body), "sha256")
