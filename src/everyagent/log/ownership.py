"""Nodes of a cluster: several daemons on one database, each of which owns some of the sessions."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct


class NodeInfo(Struct, frozen=True, kw_only=True):
    """`lease_seconds` is what is left of its lease, below zero if it has expired. `live_sessions` have an agent.

    `lag` is that of its `Follower`.
    """

    node_id: str
    name: str
    url: str
    version: str
    started_at: int
    lease_seconds: float
    live_sessions: int
    lag: int = 0


class Owner(NamedTuple):
    """The living node that owns a session."""

    node_id: str
    url: str


class Home(NamedTuple):
    directory: str
    node: Owner


class Beat(NamedTuple):
    """The result of a heartbeat. Without `renewed`, this node was removed by another one.

    `removed` are the nodes that it removed; `nodes` are those there are; `now` is the database's clock, in
    microseconds.
    """

    renewed: bool
    removed: Sequence[str]
    nodes: Sequence[NodeInfo]
    now: int


class Membership(Protocol):
    """The table of nodes. All times are the database's."""

    @property
    def node_id(self) -> str:
        """The id of this node. It has another one after each `join`."""
        ...

    async def join(self) -> None:
        """Adds this node with a fresh lease, under a new name."""
        ...

    async def beat(self, *, remove_expired: bool, live_sessions: int, lag: int) -> Beat:
        """Renews this node's lease; a node whose lease has expired may renew it as long as nobody removed it."""
        ...

    async def leave(self) -> None:
        """Removes this node: its sessions have no owner from now on."""
        ...

    async def owner(self, session_id: str) -> Owner | None:
        """The node that owns a session; None if no living one does, or there is no such session."""
        ...

    async def home(self, session_id: str) -> "Home | None":
        """The directory of a session without an owner, and another living node that had it before, by its name."""
        ...

    async def without_owner(self, session_ids: Iterable[str]) -> set[str]:
        """The sessions among these that no living node owns."""
        ...
