"""Warnings about restrictions of vaults' variables, which are stored and not applied: agents get the plain values."""

from collections.abc import Iterator

from everyagent.managed.resources.vaults.shape import Auth, OnlyTo, Variable

_PLAIN = "agents get the plain value in their environment, and can send it anywhere that they reach"


def unapplied(auth: Auth) -> Iterator[str]:
    """A warning for a variable that shall not be sent everywhere."""
    if not isinstance(auth, Variable):
        return
    restrictions: list[str] = []
    if isinstance(auth.networking, OnlyTo):
        restrictions.append("`networking`")
    if not (auth.injection_location.body and auth.injection_location.header):
        restrictions.append("`injection_location`")
    if restrictions:
        yield f"{', '.join(restrictions)} of the variable {auth.secret_name} is kept and not applied: {_PLAIN}"
