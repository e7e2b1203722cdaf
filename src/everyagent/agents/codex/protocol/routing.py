"""Routes the messages of one app-server to the sessions whose threads they are about. Pure; used by `server.py`."""

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from everyagent.agents.codex.protocol.rpc import RpcMessage
from everyagent.agents.codex.protocol.wire import Id
from everyagent.agents.memory import remember

T = TypeVar("T")
#: Messages of unknown threads that are kept until a session owns the thread. The oldest are dropped.
HELD = 1000
#: Threads without an owner that are remembered, so that their late messages are not kept.
LEFT = 4096


class ThreadRouter(Generic[T]):
    """A thread belongs to the session that opened it, a sub-agent's thread to the owner of its parent.

    `owners` is the server's own list of sessions.
    """

    def __init__(self, owners: list[T]) -> None:
        self.owners = owners
        self._threads: dict[str, T] = {}
        self._asked: dict[Id, T] = {}
        self._held: deque[RpcMessage] = deque(maxlen=HELD)
        self._left: dict[str, None] = {}
        self._latest: T | None = None

    def leave(self, owner: T) -> None:
        """Later messages about the owner's threads are dropped."""
        for thread in [thread for thread, each in self._threads.items() if each is owner]:
            self._disown(thread)
        self._asked = {id: each for id, each in self._asked.items() if each is not owner}
        self._latest = None if self._latest is owner else self._latest

    def ask(self, id: Id, owner: T) -> None:
        """`owner` sends this request, and will be given the answer."""
        self._asked[id] = owner

    def route(self, message: RpcMessage) -> Iterator[tuple[T, RpcMessage]]:
        """The sessions to deliver to: none for a message of an unknown thread. A request still needs an answer then."""
        if message.method is None:
            owner = self._asked.pop(message.id, None) if message.id is not None else None
            if owner is None and message.problem is None:
                return
            if owner is not None:
                if message.thread:
                    yield from self._own(message.thread, owner)
                yield owner, message
                return
        if message.thread is None:
            yield from self._shared(message)
            return
        owner = self._threads.get(message.thread)
        if owner is None:
            if message.id is None and message.thread not in self._left:
                self._held.append(message)
            return
        if message.method == "thread/tokenUsage/updated":
            self._latest = owner
        yield owner, message
        for child in message.children:
            yield from self._own(child, owner)
        if message.method == "thread/closed":
            self._disown(message.thread)

    def _disown(self, thread: str) -> None:
        self._threads.pop(thread, None)
        remember(self._left, thread, None, LEFT)

    def _own(self, thread: str, owner: T) -> Iterator[tuple[T, RpcMessage]]:
        self._left.pop(thread, None)
        if thread in self._threads:
            return
        self._threads[thread] = owner
        early = [message for message in self._held if message.thread == thread]
        if early:
            kept = [message for message in self._held if message.thread != thread]
            self._held = deque(kept, maxlen=HELD)
            yield from ((owner, message) for message in early)

    def _shared(self, message: RpcMessage) -> Iterator[tuple[T, RpcMessage]]:
        """Rate limits follow the usage of one thread, and are its session's; all other messages go to every session."""
        if message.method == "account/rateLimits/updated":
            if self._latest is not None:
                yield self._latest, message
            return
        if message.id is not None:
            yield from ((owner, message) for owner in self.owners[:1])
            return
        yield from ((owner, message) for owner in self.owners)
