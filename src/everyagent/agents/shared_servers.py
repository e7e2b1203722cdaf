"""Pool of server processes that sessions share: one for each program, credentials, configuration, wall and limits."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

import anyio
from msgspec import Struct

from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.runtime.limits import UNLIMITED, ProcessLimits
from everyagent.runtime.wall import Wall


class ServerKey(Struct, frozen=True):
    """Sessions whose keys are equal share a process."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    wall: Wall | None = None
    limits: ProcessLimits = UNLIMITED

    @classmethod
    def of(
        cls,
        argv: tuple[str, ...],
        environment: dict[str, str],
        wall: Wall | None = None,
        limits: ProcessLimits = UNLIMITED,
    ) -> "ServerKey":
        return cls(argv, tuple(sorted(environment.items())), wall, limits)


class PooledServer(Protocol):
    """`open`: one more session can join."""

    @property
    def open(self) -> bool: ...

    @property
    def sessions(self) -> Sequence[object]: ...

    async def discard(self) -> None:
        """End its process. A fault in that is logged, not raised."""
        ...


S = TypeVar("S", bound=PooledServer)
S_contra = TypeVar("S_contra", bound=PooledServer, contravariant=True)


class PooledConversation(Protocol[S_contra]):
    """A conversation as the pool knows it."""

    def join(self, server: S_contra) -> None: ...

    async def run(self) -> None:
        """Runs until the conversation's end; needs a task."""
        ...

    async def begin(self) -> None:
        """Open the native session on the server that was joined."""
        ...

    async def ended_by_fault(self) -> bool:
        """True after a death by an internal fault was reported to its listener."""
        ...

    async def abandon(self) -> None:
        """The conversation did not begin: close it without a report to its listener. Never raises."""
        ...


class SharedServers(Generic[S]):
    """`start` returns a server that takes requests."""

    def __init__(self, start: Callable[[ServerKey], Awaitable[S]], tasks: TaskSupervisor) -> None:
        self._start = start
        self._tasks = tasks
        self._live: dict[ServerKey, S] = {}
        self._starting: WeakValueDictionary[ServerKey, asyncio.Lock] = WeakValueDictionary()

    async def open(self, key: ServerKey, conversation: PooledConversation[S]) -> None:
        """Join a server, started if there is none, and begin. Raises what these raise; nothing is left then."""
        self._tasks.start_soon(conversation.run)
        try:
            async with self._starting.setdefault(key, asyncio.Lock()):
                conversation.join(await self._live_server(key))
            await conversation.begin()
        except BaseException as failure:
            if isinstance(failure, AgentFailed) and await conversation.ended_by_fault():
                return
            with anyio.CancelScope(shield=True):
                await conversation.abandon()
                server = self._live.get(key)
                if server and server.open and not server.sessions:
                    await server.discard()
            raise

    async def _live_server(self, key: ServerKey) -> S:
        server = self._live.get(key)
        if server is None or not server.open:
            self._live = {each: live for each, live in self._live.items() if live.open}
            server = self._live[key] = await self._start(key)
        return server

    async def close(self) -> None:
        for server in list(self._live.values()):
            await server.discard()
