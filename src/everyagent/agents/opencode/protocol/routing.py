"""Whose is an event? One server speaks of many sessions, and of those their sub-agents make. Pure."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from everyagent.agents.opencode.protocol.native_event import Said

T = TypeVar("T")
#: So many events of a sub-agent are kept until the call that made it is told.
HELD = 1000


class Router(Generic[T]):
    """A session belongs to who opened it, a sub-agent's to who owns its parent's.

    A sub-agent's events wait until the call that made it is known: they belong under it.
    """

    def __init__(self) -> None:
        self.owners: dict[str, T] = {}
        self._held: dict[str, list[Said]] = {}

    def own(self, session: str, owner: T) -> None:
        self.owners[session] = owner

    def leave(self, owner: T) -> None:
        """What is said of its sessions from now on is nobody's."""
        for session in [session for session, each in self.owners.items() if each is owner]:
            del self.owners[session]
            self._held.pop(session, None)

    def sessions(self, owner: T) -> list[str]:
        """Its own, and those of its sub-agents."""
        return [session for session, each in self.owners.items() if each is owner]

    def adopt(self, session: str, parent: str) -> None:
        """A sub-agent's session, of which no event was heard."""
        owner = self.owners.get(parent)
        if owner is not None:
            self.owners.setdefault(session, owner)

    def route(self, said: Said) -> Iterator[tuple[T, Said]]:
        """Nothing comes out for what is nobody's, or waits."""
        session = said.session
        if session is None:
            return
        if said.parent is not None and session not in self.owners:
            self.adopt(session, said.parent)
            self._held[session] = []
        owner = self.owners.get(session)
        if owner is None:
            return
        held = self._held.get(session)
        if held is not None and len(held) < HELD:
            held.append(said)
            return
        yield from self._release(session, owner)
        yield owner, said
        if said.child is not None:
            self.owners.setdefault(said.child, owner)
            yield from self._release(said.child, owner)

    def _release(self, session: str, owner: T) -> Iterator[tuple[T, Said]]:
        yield from ((owner, said) for said in self._held.pop(session, ()))
