"""Isolation levels: what separates an agent from the machine, from other sessions and from the daemon."""

from typing import Literal, TypeAlias

from msgspec import Struct

Isolation: TypeAlias = Literal["none", "namespace", "container"]
#: `auto` is the strongest level that needs no set-up: `namespace` where the system permits it, else `none`.
IsolationChoice: TypeAlias = Literal["auto", "none", "namespace", "container"]
#: From the weakest to the strongest.
LEVELS: tuple[Isolation, ...] = ("none", "namespace", "container")


class Containers(Struct, frozen=True):
    """`engine` is the command of podman, which may have options. Its store must have `image`: nothing is fetched."""

    image: str
    engine: tuple[str, ...] = ("podman",)


def weaker(level: Isolation, floor: Isolation) -> bool:
    return LEVELS.index(level) < LEVELS.index(floor)
