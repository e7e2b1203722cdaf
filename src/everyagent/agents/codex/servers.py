"""The app-servers of a daemon: one for all sessions of the same program, credentials and configuration."""

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from everyagent.agents.codex.server import AppServer, Resident
from everyagent.errors import AgentFailed
from everyagent.runtime.warden import Warden

#: One that ended by itself has said why; how long that may take to be read.
LAST_WORDS_LIMIT = 2.0


class Kind(Struct, frozen=True):
    """What must be equal for two sessions to share a process."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, argv: tuple[str, ...], environment: dict[str, str]) -> "Kind":
        return cls(argv, tuple(sorted(environment.items())))


class Servers:
    """Their processes are read by tasks of `nursery`."""

    def __init__(self, nursery: TaskGroup, warden: Warden) -> None:
        self._nursery = nursery
        self._warden = warden
        self._live: dict[Kind, AppServer] = {}
        self._starting: dict[Kind, anyio.Lock] = {}

    async def join(self, kind: Kind, resident: Resident) -> AppServer:
        """Raises `AgentFailed`, `AgentNotInstalled`."""
        async with self._starting.setdefault(kind, anyio.Lock()):
            server = self._live.get(kind)
            if server is None or not server.open:
                server = self._live[kind] = await self._start(kind)
            server.join(resident)
            return server

    async def close(self) -> None:
        for server in list(self._live.values()):
            await server.stop(force=True)

    async def _start(self, kind: Kind) -> AppServer:
        for old in [old for old, server in self._live.items() if not server.open]:
            del self._live[old]
            if old != kind and not self._starting[old].statistics().locked:
                del self._starting[old]
        return await started(kind, self._nursery, self._warden)


async def started(kind: Kind, nursery: TaskGroup, warden: Warden) -> AppServer:
    """A process of its own that has been greeted."""
    server = await AppServer.start(kind.argv, dict(kind.environment), warden)
    nursery.start_soon(server.run)
    try:
        await _greet(server)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await server.stop(force=True)
        raise
    return server


async def _greet(server: AppServer) -> None:
    try:
        await server.greet()
    except AgentFailed as failure:
        with anyio.move_on_after(LAST_WORDS_LIMIT):
            await server.over.wait()
        why = (server.death and server.death.message) or failure.detail
        raise AgentFailed(f"Codex's app-server did not start. {why}") from failure
