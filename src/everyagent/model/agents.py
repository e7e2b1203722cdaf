"""Models and modes of an agent, as its catalog and the API list them."""

from msgspec import Struct


class Mode(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    description: str


class Model(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`costs`: the agent reports the cost of this model itself."""

    id: str
    name: str | None = None
    variants: list[str] = []
    default_variant: str | None = None
    costs: bool = False
