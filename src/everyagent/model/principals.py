"""The principal of the running task: the owner, an API key or the daemon itself.

The API sets it for each request. The log reads it: nobody finds what belongs to another workspace.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, TypeAlias, get_args

from msgspec import UNSET, Struct, UnsetType

Scope: TypeAlias = Literal["read", "run", "answer", "admin"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
#: The key id of the owner's token.
OWNER_ID: Final = "owner"
#: The key id of the daemon, where it acts in the place of a client.
DAEMON_ID: Final = "daemon"


class EventActor(Struct, frozen=True, kw_only=True):
    """The API key with which a client caused an event. The owner's token has the id `owner`.

    The daemon has the id `daemon`; `name` is then the setting by which it acted.
    """

    key_id: str
    name: str


class Principal(Struct, frozen=True, kw_only=True):
    """`workspace` is the only one that it sees, None for all; `creates_in` is where its new things belong.

    `actor` is None for the daemon itself.
    """

    actor: EventActor | None = None
    workspace: str | None = None
    creates_in: str = "default"
    scopes: frozenset[Scope] = frozenset()

    @property
    def key_id(self) -> str:
        return self.actor.key_id if self.actor else ""

    @property
    def limited(self) -> bool:
        """Whether it is an API key, not the owner's token or the daemon."""
        return self.key_id not in ("", OWNER_ID, DAEMON_ID)

    def sees(self, workspace: str) -> bool:
        return self.workspace is None or self.workspace == workspace


DAEMON: Final = Principal()
OWNER: Final = Principal(actor=EventActor(key_id=OWNER_ID, name=OWNER_ID), scopes=frozenset(SCOPES))
#: For requests without a token: it sees nothing.
NOBODY: Final = Principal(workspace="")

_current: ContextVar[Principal] = ContextVar("principal", default=DAEMON)


def current() -> Principal:
    return _current.get()


def current_actor() -> EventActor | UnsetType:
    return _current.get().actor or UNSET


def set_current(principal: Principal) -> None:
    """For the rest of the running task, and the tasks that it starts."""
    _current.set(principal)


@contextmanager
def acting_in(workspace: str) -> Generator[None]:
    """The daemon itself, for things of one workspace."""
    before = _current.set(Principal(workspace=workspace, creates_in=workspace))
    try:
        yield
    finally:
        _current.reset(before)
