"""Routes the events of one server to the sessions that they are about, sub-agents' sessions included. Pure."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from everyagent.agents.opencode.protocol.native_event import NativeEvent

T = TypeVar("T")
#: Events of a sub-agent that are kept until the call that made it is known.
HELD = 1000
#: Sessions of sub-agents that are remembered.
ADOPTED = 8192


class SessionRouter(Generic[T]):
    """A native session belongs to the conversation that opened it, a sub-agent's to the owner of its parent.

    A sub-agent's events are held until the call that made it is known, because their items belong under it.
    """

    def __init__(self) -> None:
        self.owners: dict[str, T] = {}
        self._adopted: dict[str, None] = {}
        self._held: dict[str, list[NativeEvent]] = {}

    def own(self, session: str, owner: T) -> None:
        self.owners[session] = owner

    def leave(self, owner: T) -> None:
        """Later events about the owner's sessions are dropped."""
        for session in self.sessions(owner):
            self._forget(session)

    def _forget(self, session: str) -> None:
        for memory in (self.owners, self._adopted, self._held):
            memory.pop(session, None)

    def sessions(self, owner: T) -> list[str]:
        """The conversation's own native session, and those of its sub-agents."""
        return [session for session, each in self.owners.items() if each is owner]

    def adopt(self, session: str, parent: str) -> None:
        """A sub-agent's session, of which no event came yet."""
        owner = self.owners.get(parent)
        if owner is not None:
            self._adopt(session, owner)

    def _adopt(self, session: str, owner: T) -> None:
        if session not in self.owners:
            self.owners[session] = owner
            self._adopted[session] = None
            if len(self._adopted) > ADOPTED:
                self._forget(next(iter(self._adopted)))

    def route(self, event: NativeEvent) -> Iterator[tuple[T, NativeEvent]]:
        """The conversations to deliver to: none for an event of an unknown session, or one that is held."""
        session = event.session
        if session is None:
            return
        if event.parent is not None and session not in self.owners:
            self.adopt(session, event.parent)
            if session in self.owners:
                self._held[session] = []
        owner = self.owners.get(session)
        if owner is None:
            return
        held = self._held.get(session)
        if held is not None and len(held) < HELD:
            held.append(event)
            return
        yield from self._release(session, owner)
        yield owner, event
        if event.child is not None:
            self._adopt(event.child, owner)
            yield from self._release(event.child, owner)

    def _release(self, session: str, owner: T) -> Iterator[tuple[T, NativeEvent]]:
        yield from ((owner, event) for event in self._held.pop(session, ()))
