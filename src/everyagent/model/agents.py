"""Models and modes of an agent, as its catalog and the API list them."""

from typing import Annotated

from msgspec import Meta, Struct


class Mode(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`sameAs` is set on an agent's own name for another mode of the list: it need not be offered to people."""

    id: str
    name: str
    description: str
    same_as: str | None = None


class Model(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`costs`: the agent reports the cost of this model itself."""

    id: str
    name: str | None = None
    variants: list[str] = []
    default_variant: str | None = None
    costs: bool = False


class OwnAgent(Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """An agent of the user's own that speaks the Agent Client Protocol: a table `[agents.NAME]` in `config.toml`.

    `env` is its environment, besides variables of the daemon's own that `pass-env` names. `modes` maps permission modes
    to the agent's own. `auth-method` is sent with `authenticate`, for an agent that needs that. With `client-methods`
    it may use the daemon's files and terminals. `asks-for` are the universal names of the tools for which it asks
    permission in its `default` mode: tool policies can be set for these.
    """

    command: Annotated[list[str], Meta(min_length=1)]
    title: str | None = None
    env: dict[str, str] = {}
    pass_env: list[str] = []
    modes: dict[str, str] = {}
    auth_method: str | None = None
    client_methods: bool = True
    asks_for: list[str] = []
