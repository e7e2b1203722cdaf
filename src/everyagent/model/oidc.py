"""Settings of the sign-in with OpenID Connect: the provider, and what its users may do."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from everyagent.model.keys import Workspace
from everyagent.model.principals import Scope

#: The claims of an id token, merged with those of the provider's user info.
Claims: TypeAlias = dict[str, object]


class OidcGrant(Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """Gives the users whose `claim` is `value`, or a list that contains it, a workspace and scopes.

    `value` may have `*` for any text. The claim `email` counts only if the provider has verified the address.
    """

    claim: Annotated[str, Meta(min_length=1)]
    value: Annotated[str, Meta(min_length=1)]
    scopes: Annotated[list[Scope], Meta(min_length=1)]
    workspace: Workspace = "default"

    def covers(self, claims: Claims) -> bool:
        if self.claim == "email" and claims.get("email_verified") is not True:
            return False
        found = claims.get(self.claim)
        values: list[object] = list(found) if isinstance(found, list) else [found]  # pyright: ignore[reportUnknownArgumentType]
        return any(isinstance(each, str) and fnmatchcase(each, self.value) for each in values)


class OidcSettings(Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """`issuer` is the provider's; its discovery document is found from it. Without a secret the client is public.

    `url` is the daemon's address in browsers, if it is not the one that requests name. `name` is shown on the button.
    `lifetime` is how long a sign-in lasts, in seconds. Of `grants`, the first that covers a user applies.
    """

    issuer: Annotated[str, Meta(pattern="^https?://")]
    client_id: Annotated[str, Meta(min_length=1)]
    client_secret: str | None = None
    client_secret_file: str | None = None
    url: Annotated[str, Meta(pattern="^https?://[^/]+$")] | None = None
    name: str = "your organisation"
    request_scopes: tuple[str, ...] = ("openid", "email", "profile")
    lifetime: Annotated[int, Meta(ge=60, le=30 * 86_400)] = 12 * 3600
    grants: Annotated[list[OidcGrant], Meta(min_length=1)]

    def grant(self, claims: Claims) -> OidcGrant | None:
        return next((grant for grant in self.grants if grant.covers(claims)), None)

    def secret(self) -> str | None:
        """Raises `OSError` if the file cannot be read."""
        if self.client_secret_file is None:
            return self.client_secret
        return Path(self.client_secret_file).expanduser().read_text().strip()


def is_safe_url(url: str) -> bool:
    """Secrets may be sent there: over TLS, or to this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1"))
