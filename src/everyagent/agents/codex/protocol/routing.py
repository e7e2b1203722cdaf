"""Whose is a message? One app-server speaks of many threads over one pipe. Pure; used by `server.py`."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from everyagent.agents.codex.protocol.rpc import Said
from everyagent.agents.codex.protocol.wire import Id

T = TypeVar("T")
#: So many messages of threads that nobody has named yet are kept for who will name them.
HELD = 1000


class Router(Generic[T]):
    """A thread belongs to who opened it, a sub-agent's thread to who owns its parent's."""

    def __init__(self) -> None:
        self.owners: list[T] = []
        self._threads: dict[str, T] = {}
        self._asked: dict[Id, T] = {}
        self._held: list[Said] = []
        self._left: set[str] = set()
        self._latest: T | None = None

    def join(self, owner: T) -> None:
        self.owners.append(owner)

    def leave(self, owner: T) -> None:
        """What is said of its threads from now on is nobody's."""
        if owner in self.owners:
            self.owners.remove(owner)
        threads = [thread for thread, each in self._threads.items() if each is owner]
        for thread in threads:
            del self._threads[thread]
        self._left.update(threads)
        self._asked = {id: each for id, each in self._asked.items() if each is not owner}
        self._latest = None if self._latest is owner else self._latest

    def ask(self, id: Id, owner: T) -> None:
        """`owner` sends this request: its answer will be the owner's."""
        self._asked[id] = owner

    def route(self, said: Said) -> Iterator[tuple[T, Said]]:
        """Nothing comes out for what is nobody's; a request among that still wants an answer."""
        if said.method is None:
            owner = self._asked.pop(said.id, None) if said.id is not None else None
            if owner is None and said.problem is None:
                return
            if owner is not None:
                if said.thread:
                    yield from self._own(said.thread, owner)
                yield owner, said
                return
        if said.thread is None:
            yield from self._shared(said)
            return
        owner = self._threads.get(said.thread)
        if owner is None:
            if said.id is None and said.thread not in self._left and len(self._held) < HELD:
                self._held.append(said)
            return
        if said.method == "thread/tokenUsage/updated":
            self._latest = owner
        yield owner, said
        for child in said.children:
            yield from self._own(child, owner)

    def _own(self, thread: str, owner: T) -> Iterator[tuple[T, Said]]:
        self._left.discard(thread)
        if thread in self._threads:
            return
        self._threads[thread] = owner
        early = [said for said in self._held if said.thread == thread]
        if early:
            self._held = [said for said in self._held if said.thread != thread]
            yield from ((owner, said) for said in early)

    def _shared(self, said: Said) -> Iterator[tuple[T, Said]]:
        """Limits come right after the usage of one thread; all else is for everybody."""
        if said.method == "account/rateLimits/updated":
            if self._latest is not None:
                yield self._latest, said
            return
        if said.id is not None:
            yield from ((owner, said) for owner in self.owners[:1])
            return
        yield from ((owner, said) for owner in self.owners)
