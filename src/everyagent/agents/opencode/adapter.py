"""OpenCode as an adapter: sessions share servers, and a pinned version can be installed."""

from collections.abc import Mapping

from anyio import to_thread

from everyagent.agents import packages
from everyagent.agents.adapter import AgentState, Catalog, Launch, Listener
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.opencode import catalog, program
from everyagent.agents.opencode import launch as launching
from everyagent.agents.opencode.driver.driver import OpencodeConversation
from everyagent.agents.opencode.driver.server import OpencodeServer
from everyagent.agents.opencode.policy import dependencies
from everyagent.agents.opencode.policy.plugin_hooks import Guards
from everyagent.agents.program_adapter import ProgramAdapter
from everyagent.agents.shared_servers import Kind, Servers
from everyagent.errors import AgentFailed


class OpencodeAdapter(ProgramAdapter):
    identity = program.IDENTITY
    offered = catalog.CAPABILITIES
    unasked = catalog.UNASKED

    def __init__(self, around: AdapterContext) -> None:
        super().__init__(around)
        self._folder = around.folder / self.name
        self._servers = Servers(self._start)
        self._guards = Guards(around.tasks)

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
        conversation = OpencodeConversation(launch, listener, self._tasks, self._guards)
        kind = await to_thread.run_sync(self._kind, binary, launch, await self._guards.door())
        await self._servers.lodge(kind, conversation, lambda server: server.join(conversation), self._tasks)
        return conversation

    async def close(self) -> None:
        await self._servers.close()
        await self._guards.close()
        await super().close()

    def _kind(self, binary: str, launch: Launch | None = None, door: Mapping[str, str] | None = None) -> Kind:
        """Blocking."""
        environment = launching.environment(
            launch, self._environment, program.beside(self._environment, self._folder), door
        )
        quiet = dependencies.environment(launch.directory if launch else self._folder, environment)
        return Kind.of(launching.argv(binary), {**quiet, **environment})

    async def _start(self, kind: Kind) -> OpencodeServer:
        return await OpencodeServer.ready(kind, self._tasks, self._reaper)

    async def _ask(self, path: str) -> Catalog:
        """Start the program only to hear what it offers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        server = await self._start(await to_thread.run_sync(self._kind, path))
        try:
            return await catalog.asked(server.rest, str(self._folder))
        finally:
            await server.stop(force=True)
