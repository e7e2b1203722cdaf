"""OpenCode as an adapter: sessions share servers, and a pinned version can be installed."""

import os
from collections.abc import Mapping
from pathlib import Path

from anyio import to_thread
from anyio.abc import TaskGroup

from everyagent.agents import packages
from everyagent.agents.adapter import AgentState, Capabilities, Catalog, Launch, Listener
from everyagent.agents.installed import Installed
from everyagent.agents.opencode import catalog, dependencies, program
from everyagent.agents.opencode import launch as launching
from everyagent.agents.opencode.driver import OpencodeConversation
from everyagent.agents.opencode.guards import Guards
from everyagent.agents.opencode.server import OpencodeServer
from everyagent.agents.servers import Kind, Servers
from everyagent.errors import AgentFailed
from everyagent.runtime.warden import Warden


class OpencodeAdapter:
    """Conversations and servers run as tasks of `nursery`. `folder` is where agents are installed.

    `environment` is the daemon's own. Without a `warden` it brings its own, and closes it.
    """

    name = program.IDENTITY.name
    title = program.IDENTITY.title

    def __init__(
        self,
        nursery: TaskGroup,
        folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
        warden: Warden | None = None,
    ) -> None:
        self._nursery = nursery
        self._folder = folder / self.name
        self._environment = os.environ if environment is None else environment
        self._warden = warden or Warden()
        self._owns_warden = warden is None
        self._servers = Servers(self._start)
        self._guards = Guards(nursery)
        self._program = Installed(program.IDENTITY, folder, self._environment)

    @property
    def capabilities(self) -> Capabilities:
        return catalog.CAPABILITIES

    async def state(self) -> AgentState:
        return await self._program.state()

    async def catalog(self) -> Catalog:
        return await self._program.catalog(self._ask, catalog.UNASKED)

    async def install(self, *, reinstall: bool) -> AgentState:
        """With ripgrep, where the machine has none."""
        if not program.own_ripgrep(self._environment):
            await to_thread.run_sync(packages.install, program.ripgrep(), self._folder / "ripgrep")
        return await self._program.install(reinstall=reinstall)

    async def open(self, launch: Launch, listener: Listener) -> OpencodeConversation:
        binary = self._program.located()
        if not launch.directory.is_dir():
            raise AgentFailed(
                f"The session's directory {launch.directory} does not exist. Make it, or start another session."
            )
        conversation = OpencodeConversation(launch, listener, self._nursery, self._guards)
        kind = await to_thread.run_sync(self._kind, binary, launch, await self._guards.door())
        await self._servers.lodge(kind, conversation, lambda server: server.join(conversation), self._nursery)
        return conversation

    async def close(self) -> None:
        await self._servers.close()
        await self._guards.close()
        if self._owns_warden:
            await self._warden.close()

    def _kind(self, binary: str, launch: Launch | None = None, door: Mapping[str, str] | None = None) -> Kind:
        """Blocking."""
        environment = launching.environment(
            launch, self._environment, program.beside(self._environment, self._folder), door
        )
        quiet = dependencies.environment(launch.directory if launch else self._folder, environment)
        return Kind.of(launching.argv(binary), {**quiet, **environment})

    async def _start(self, kind: Kind) -> OpencodeServer:
        return await OpencodeServer.ready(kind, self._nursery, self._warden)

    async def _ask(self, path: str) -> Catalog:
        """Start the program only to hear what it offers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        server = await self._start(await to_thread.run_sync(self._kind, path))
        try:
            return await catalog.asked(server.rest, str(self._folder))
        finally:
            await server.stop(force=True)
