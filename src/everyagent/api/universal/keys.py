"""Routes of API keys, of the identity of a token, and of the audit trail."""

from typing import Annotated

from msgspec import Meta, Struct

from everyagent.access.keyring import Keyring
from everyagent.access.requests import AuditFault, AuditQuery, AuditRecord, verified
from everyagent.api.routing import Call, Nothing, Routes
from everyagent.clock import rfc3339
from everyagent.errors import BadRequest, Forbidden, NotFound, StorageFull
from everyagent.model.keys import AuditItem, AuditList, AuditState, CreateKey, Identity, KeyInfo, KeyList, NewKey
from everyagent.model.principals import SCOPES, current
from everyagent.sessions import Sessions

routes = Routes("keys")


class AuditListQuery(Struct, frozen=True, kw_only=True, rename="camel"):
    session_id: str | None = None
    key_id: str | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    page: str | None = None


@routes.add("GET", "/v1/me", scope=None)
async def show_identity(call: Call[Nothing, Nothing]) -> Identity:
    """Show whose token the request has: its name, workspace and scopes."""
    principal = current()
    keys = call.sessions.services.keys
    return Identity(
        key_id=principal.key_id,
        name=principal.actor.name if principal.actor else "",
        workspace=principal.workspace,
        scopes=[scope for scope in SCOPES if scope in principal.scopes],
        expires_at=None if keys is None else keys.expires_at(principal.key_id),
        sign_in=keys is not None and keys.is_sign_in(principal.key_id),
    )


@routes.add("GET", "/v1/keys", scope="admin")
async def list_keys(call: Call[Nothing, Nothing]) -> KeyList:
    """List the API keys of the workspace, newest first; the owner sees those of all."""
    return KeyList(keys=_keys(call.sessions).list())


@routes.add("POST", "/v1/keys", StorageFull, scope="admin")
async def create_key(call: Call[Nothing, CreateKey]) -> NewKey:
    """Create an API key. The response is the only one that has its secret."""
    return await _keys(call.sessions).create(call.body)


@routes.add("DELETE", "/v1/keys/{key_id}", NotFound, StorageFull, scope="admin")
async def revoke_key(call: Call[Nothing, Nothing]) -> KeyInfo:
    """Revoke an API key. Its requests are refused from now on, and its open streams end."""
    return await _keys(call.sessions).revoke(call.path["key_id"])


@routes.add("GET", "/v1/audit", scope="admin")
async def list_audit(call: Call[AuditListQuery, Nothing]) -> AuditList:
    """List who did what, newest first: every request that may change something, and its outcome."""
    query = call.query
    if query.page is not None and not (query.page.isdecimal() and len(query.page) < 19):
        raise BadRequest(f"{query.page!r} is no page. Use the `nextPage` of the page before, as it came.")
    found = await _keys(call.sessions).audit.page(
        AuditQuery(
            workspace=current().workspace,
            session_id=query.session_id,
            key_id=query.key_id,
            before=int(query.page) if query.page else None,
            limit=query.limit,
        )
    )
    more = str(found[query.limit - 1].number) if len(found) > query.limit else None
    return AuditList(entries=[_item(record) for record in found[: query.limit]], next_page=more)


@routes.add("GET", "/v1/audit/verify", Forbidden, scope="admin")
async def verify_audit(call: Call[Nothing, Nothing]) -> AuditState:
    """Check that no entry of the audit trail was changed, removed or reordered. For the owner only."""
    if current().workspace is not None:
        raise Forbidden("The audit trail is one chain over all workspaces, so only the owner can check it.")
    trail = _keys(call.sessions).audit
    result = await verified(trail)
    if isinstance(result, AuditFault):
        head = await trail.head()
        return AuditState(valid=False, entries=result.number - 1, digest=head.digest.hex(), problem=result.problem)
    return AuditState(valid=True, entries=result.number, digest=result.digest.hex())


def _keys(sessions: Sessions) -> Keyring:
    keys = sessions.services.keys
    if keys is None:
        raise BadRequest("This server has no API keys.")
    return keys


def _item(record: AuditRecord) -> AuditItem:
    entry = record.decoded()
    return AuditItem(
        number=record.number,
        time=rfc3339(entry.at),
        key_id=entry.key_id,
        name=entry.name,
        workspace=entry.workspace,
        operation=entry.operation,
        outcome=entry.outcome,
        session_id=entry.session_id,
        subject=entry.subject,
        digest=record.digest.hex(),
    )
