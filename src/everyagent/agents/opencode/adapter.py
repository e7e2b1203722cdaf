"""The OpenCode adapter: sessions share servers, and a pinned version can be installed."""

from collections.abc import Mapping
from pathlib import Path
from socket import socket

from anyio import to_thread
from msgspec.structs import replace

from everyagent.agents import packages
from everyagent.agents.adapter import AgentState, Catalog, Launch, Listener
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.opencode import catalog, program
from everyagent.agents.opencode import launch as launching
from everyagent.agents.opencode.driver.driver import OpencodeConversation
from everyagent.agents.opencode.driver.server import OpencodeServer
from everyagent.agents.opencode.policy import dependencies
from everyagent.agents.opencode.policy.plugin_hooks import PluginHooks
from everyagent.agents.program_adapter import ProgramAdapter
from everyagent.agents.shared_servers import ServerKey, SharedServers


class OpencodeAdapter(ProgramAdapter):
    identity = program.IDENTITY
    offered = catalog.CAPABILITIES
    unasked = catalog.UNASKED

    def __init__(self, around: AdapterContext) -> None:
        super().__init__(around)
        self._folder = around.folder / self.name
        self._servers = SharedServers(self._start, around.tasks)
        self._plugin_hooks = PluginHooks(around.tasks)
        #: Sockets for servers with a restricted shell, which have one session each.
        self._networks: dict[ServerKey, socket] = {}

    async def install(self, *, reinstall: bool) -> AgentState:
        """Also installs ripgrep if the machine has none."""
        if not program.own_ripgrep(self._environment):
            await to_thread.run_sync(packages.install, program.ripgrep(), self._folder / "ripgrep")
        return await self._program.install(reinstall=reinstall)

    async def open(self, launch: Launch, listener: Listener) -> OpencodeConversation:
        binary = self._program.located()
        conversation = OpencodeConversation(launch, listener, self._tasks, self._plugin_hooks)
        key = await to_thread.run_sync(self._key, binary, launch, await self._plugin_hooks.environment())
        environment = dict(key.environment)
        needed = [await self._plugin_hooks.folder(), *self._beside()]
        wall = await self._wall(launch, environment, program.native(environment), needed)
        key = replace(key, wall=wall, limits=launch.limits)
        if launch.shell and launch.shell.network:
            self._networks[key] = launch.shell.network
        try:
            await self._servers.open(key, conversation)
        finally:
            self._networks.pop(key, None)
        return conversation

    async def close(self) -> None:
        await self._servers.close()
        await self._plugin_hooks.close()
        await super().close()

    def _key(self, binary: str, launch: Launch | None = None, hooks: Mapping[str, str] | None = None) -> ServerKey:
        """Blocking."""
        environment = launching.environment(
            launch, self._environment, program.beside(self._environment, self._folder), hooks
        )
        quiet = dependencies.environment(launch.directory if launch else self._folder, environment)
        return ServerKey.of(launching.argv(binary), {**quiet, **environment})

    def _beside(self) -> list[Path]:
        ripgrep = program.own_ripgrep(self._environment) or program.beside(self._environment, self._folder)
        return [Path(ripgrep)] if ripgrep else []

    async def _start(self, key: ServerKey) -> OpencodeServer:
        return await OpencodeServer.ready(key, self._tasks, self._reaper, self._networks.get(key))

    async def _ask(self, path: str) -> Catalog:
        """Start the program to ask for its models and agents."""
        self._folder.mkdir(parents=True, exist_ok=True)
        server = await self._start(await to_thread.run_sync(self._key, path))
        try:
            return await catalog.asked(server.rest, str(self._folder))
        finally:
            await server.discard()
