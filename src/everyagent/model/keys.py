"""API keys and the audit trail as the API shows them."""

from typing import Annotated

from msgspec import Meta, Struct

from everyagent.model.principals import Scope

Workspace = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]


class CreateKey(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`expiresAt` is in milliseconds; `rate` is requests per minute; `budgetUsd` is for turns that the key begins."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    scopes: Annotated[list[Scope], Meta(min_length=1)]
    workspace: Workspace | None = None
    expires_at: Annotated[int, Meta(gt=0, le=253_402_300_799_000)] | None = None
    rate: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    budget_usd: Annotated[float, Meta(ge=0)] | None = None


class KeyInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """Times are in milliseconds. `spentUsd` is the cost of the turns that the key began.

    `signIn` is true for the key of somebody who signed in with OpenID Connect.
    """

    key_id: str
    name: str
    workspace: str
    scopes: list[Scope]
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    rate: int | None = None
    budget_usd: float | None = None
    spent_usd: float = 0.0
    sign_in: bool = False


class NewKey(Struct, frozen=True, kw_only=True, rename="camel"):
    """`secret` is shown once: only its hash is stored."""

    key: KeyInfo
    secret: str


class KeyList(Struct, frozen=True, kw_only=True):
    keys: list[KeyInfo]


class Identity(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whose token a request has. `workspace` is null if it sees all; `expiresAt` is in milliseconds.

    `signIn` is true if it is the cookie of somebody who signed in with OpenID Connect.
    """

    key_id: str
    name: str
    workspace: str | None
    scopes: list[Scope]
    expires_at: int | None = None
    sign_in: bool = False


class AuditItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """`outcome` is `ok` or the code of an error. `digest` covers the entry and all before it."""

    number: int
    time: str
    key_id: str
    name: str
    workspace: str
    operation: str
    outcome: str
    session_id: str | None
    subject: str | None
    digest: str


class AuditList(Struct, frozen=True, kw_only=True, rename="camel"):
    """Newest first. `nextPage` is null on the last page."""

    entries: list[AuditItem]
    next_page: str | None = None


class AuditState(Struct, frozen=True, kw_only=True, rename="camel"):
    """`entries` are as they were written, up to `digest`; `problem` describes the first that is not."""

    valid: bool
    entries: int
    digest: str
    problem: str | None = None
