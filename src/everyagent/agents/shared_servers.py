"""Processes that sessions share: one for all sessions of the same program, credentials and configuration."""

from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

import anyio
from msgspec import Struct

from everyagent.agents.supervision import TaskSupervisor


class Kind(Struct, frozen=True):
    """What must be equal for two sessions to share a process."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, argv: tuple[str, ...], environment: dict[str, str]) -> "Kind":
        return cls(argv, tuple(sorted(environment.items())))


class Server(Protocol):
    """A live process. `open`: it can take one more session."""

    @property
    def open(self) -> bool: ...

    async def stop(self, *, force: bool = False) -> None: ...


S = TypeVar("S", bound=Server)
S_contra = TypeVar("S_contra", bound=Server, contravariant=True)


class Lodger(Protocol[S_contra]):
    """A conversation with one of the sessions on a server."""

    async def run(self) -> None:
        """A task of its own, to the conversation's end."""
        ...

    async def begin(self, server: S_contra) -> None: ...

    async def abandon(self) -> None:
        """It did not begin."""
        ...


class Servers(Generic[S]):
    """`start` makes one that is ready."""

    def __init__(self, start: Callable[[Kind], Awaitable[S]]) -> None:
        self._start = start
        self._live: dict[Kind, S] = {}
        self._starting: dict[Kind, anyio.Lock] = {}

    async def join(self, kind: Kind, enter: Callable[[S], None]) -> S:
        """`enter` is called at once with a server that is open. Raises what `start` raises."""
        async with self._starting.setdefault(kind, anyio.Lock()):
            server = self._live.get(kind)
            if server is None or not server.open:
                self._forget_closed(kind)
                server = self._live[kind] = await self._start(kind)
            enter(server)
            return server

    async def lodge(self, kind: Kind, lodger: Lodger[S], enter: Callable[[S], None], tasks: TaskSupervisor) -> None:
        """It has begun when this returns. Raises what `start` and `begin` raise; nothing is left of it then."""
        server = await self.join(kind, enter)
        tasks.start_soon(lodger.run)
        try:
            await lodger.begin(server)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await lodger.abandon()
            raise

    async def close(self) -> None:
        for server in list(self._live.values()):
            await server.stop(force=True)

    def _forget_closed(self, wanted: Kind) -> None:
        for kind in [kind for kind, server in self._live.items() if not server.open]:
            del self._live[kind]
            if kind != wanted and not self._starting[kind].statistics().locked:
                del self._starting[kind]
