"""Checks that an agent's commands can be limited to some hosts. A session that cannot be limited is refused."""

from collections.abc import Sequence

from anyio import to_thread

from everyagent.agents.adapter import Catalog
from everyagent.errors import BadRequest, UnsupportedChoice
from everyagent.model.hosts import host_in
from everyagent.model.isolation import Isolation

FIELD = "allowedHosts"


async def keepable(
    hosts: Sequence[str] | None, permission_mode: str, agent: str, catalog: Catalog, isolation: Isolation | None = None
) -> list[str] | None:
    """The normalized hosts. Raises if the commands of this `agent` cannot be limited to them."""
    if hosts is None:
        return None
    if isolation == "container":
        raise UnsupportedChoice(
            f"Commands in a container cannot be limited to some hosts. Leave `{FIELD}` out, or choose the isolation "
            "'namespace'.",
            field=FIELD,
        )
    named = [host_in(each) for each in hosts]
    if None in named:
        wrong = hosts[named.index(None)]
        raise BadRequest(f"{wrong!r} is not a host. Write it like example.org or *.example.org.", field=FIELD)
    refuse_unkept(hosts, permission_mode, agent, catalog)
    if catalog.sandbox == "shell" and (why := await no_shell()):
        raise UnsupportedChoice(f"This machine cannot limit commands to some hosts: {why}", field=FIELD)
    return [name for name in dict.fromkeys(named) if name]


def refuse_unkept(hosts: Sequence[str] | None, permission_mode: str, agent: str, catalog: Catalog) -> None:
    """Raises if the agent cannot be limited to the hosts, or not in this permission mode."""
    if hosts is None:
        return
    if catalog.sandbox is None:
        raise UnsupportedChoice(f"{agent} cannot be limited to some hosts. Leave `{FIELD}` out.", field=FIELD)
    modes = catalog.sandbox_modes
    if modes is not None and permission_mode not in modes:
        raise UnsupportedChoice(
            f"{agent} cannot be limited to some hosts in the permission mode {permission_mode!r}: commands that are "
            f"approved run outside its sandbox. Choose one of: {', '.join(modes)}.",
            field="permissionMode",
            choices=modes,
        )


async def no_shell() -> str | None:
    """The reason why this machine cannot run the restricted shell; None if it can."""
    from everyagent.runtime import restricted_shell  # imported at use: few sessions are limited

    return await to_thread.run_sync(restricted_shell.unavailable_reason)
