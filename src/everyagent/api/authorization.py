"""Checks the scopes of a principal, and the rate and the budget of its key."""

from collections.abc import Sequence

from everyagent.access.keyring import Keyring
from everyagent.errors import ScopeMissing
from everyagent.model.principals import Principal, Scope


def require_scope(principal: Principal, scopes: Sequence[Scope]) -> None:
    """Raises `ScopeMissing` unless the principal has one of the scopes."""
    if scopes and principal.scopes.isdisjoint(scopes):
        names = " or ".join(f"`{scope}`" for scope in scopes)
        name = principal.actor.name if principal.actor else "This token"
        raise ScopeMissing(
            f"The key {name!r} does not have the scope {names}, which this request needs. Use a key that "
            "has it: the owner makes one with `everyagent keys create`.",
            requiredScope=scopes[0],
            scopes=sorted(principal.scopes),
        )


def authorize(principal: Principal, scopes: Sequence[Scope], *, turns: bool, keys: Keyring | None) -> None:
    if keys is not None:
        keys.check_rate(principal.key_id)
    require_scope(principal, scopes)
    if turns and keys is not None:
        keys.check_budget(principal.key_id)
