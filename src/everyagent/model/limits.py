"""Limits on what an agent, with everything that it starts, may use of the machine."""

from typing import Annotated

from msgspec import Meta, Struct

_MIB = 1 << 20


class AgentLimits(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """None is no limit. `memory` and `disk` are bytes, `cpu` is a number of cores; threads count as processes.

    `disk` is the size of the session's directory and its scratch folder together.
    """

    memory: Annotated[int, Meta(ge=64 * _MIB)] | None = None
    processes: Annotated[int, Meta(ge=32)] | None = None
    cpu: Annotated[float, Meta(gt=0)] | None = None
    open_files: Annotated[int, Meta(ge=64)] | None = None
    disk: Annotated[int, Meta(ge=_MIB)] | None = None


NO_LIMITS = AgentLimits()


def lowest(one: AgentLimits, other: AgentLimits) -> AgentLimits:
    """The lower of each limit."""
    pairs = ((name, getattr(one, name), getattr(other, name)) for name in AgentLimits.__struct_fields__)
    return AgentLimits(
        **{name: min((each for each in (mine, yours) if each is not None), default=None) for name, mine, yours in pairs}
    )
