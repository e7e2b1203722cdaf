"""One sign-in with OpenID Connect, from its start to the callback."""

import secrets

from msgspec import Struct


class SignInFailed(Exception):
    """The message is for the log. The user learns only that the sign-in failed."""


class SignInAttempt(Struct, frozen=True, kw_only=True):
    """The browser keeps it in a cookie."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> "SignInAttempt":
        return cls(state=secrets.token_urlsafe(32), nonce=secrets.token_urlsafe(32), verifier=secrets.token_urlsafe(48))

    @classmethod
    def unpacked(cls, text: str) -> "SignInAttempt | None":
        parts = text.split(".")
        return cls(state=parts[0], nonce=parts[1], verifier=parts[2]) if len(parts) == 3 else None

    def packed(self) -> str:
        return f"{self.state}.{self.nonce}.{self.verifier}"
