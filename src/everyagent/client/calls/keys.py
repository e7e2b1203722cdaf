"""Calls about API keys and the audit trail."""

from collections.abc import Sequence

import msgspec

from everyagent.client.call import ApiCall, ApiResponse, decoded, get, params, path
from everyagent.model.keys import AuditList, AuditState, CreateKey, Identity, KeyInfo, KeyList, NewKey
from everyagent.model.principals import Scope

_identity = decoded(Identity)
_keys = decoded(KeyList)
_key = decoded(KeyInfo)
_new_key = decoded(NewKey)
_audit = decoded(AuditList)
_state = decoded(AuditState)


def me() -> ApiCall[Identity]:
    """Whose token the client has: its name, workspace and scopes."""
    return get(path("me"), _identity)


def keys() -> ApiCall[list[KeyInfo]]:
    """The API keys, newest first, without their secrets."""
    return get(path("keys"), _key_list)


def create_key(
    name: str,
    scopes: Sequence[Scope],
    *,
    workspace: str | None = None,
    expires_at: int | None = None,
    rate: int | None = None,
    budget_usd: float | None = None,
) -> ApiCall[NewKey]:
    """Create an API key. The result has its secret, which is not shown again."""
    asked = CreateKey(
        name=name, scopes=list(scopes), workspace=workspace, expires_at=expires_at, rate=rate, budget_usd=budget_usd
    )
    body = {name: value for name, value in msgspec.to_builtins(asked).items() if value is not None}
    return ApiCall(method="POST", path=path("keys"), decode=_new_key, body=msgspec.json.encode(body))


def revoke_key(key_id: str) -> ApiCall[KeyInfo]:
    """Refuse an API key from now on, also in open streams."""
    return ApiCall(method="DELETE", path=path("keys", key_id), decode=_key)


def audit(
    *, session_id: str | None = None, key_id: str | None = None, limit: int = 100, page: str | None = None
) -> ApiCall[AuditList]:
    """The audit trail, newest first."""
    given = params(sessionId=session_id, keyId=key_id, limit=limit, page=page)
    return get(path("audit"), _audit, given)


def verify_audit() -> ApiCall[AuditState]:
    """Check that no entry of the audit trail was changed, removed or reordered."""
    return get(path("audit", "verify"), _state)


def _key_list(response: ApiResponse) -> list[KeyInfo]:
    return _keys(response).keys
