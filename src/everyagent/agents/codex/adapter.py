"""The Codex adapter: sessions share app-servers, and a pinned version can be installed."""

from everyagent.agents.adapter import Catalog, Launch, Listener
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.codex import catalog, program
from everyagent.agents.codex import launch as launching
from everyagent.agents.codex.driver.driver import CodexConversation
from everyagent.agents.codex.driver.server import AppServer
from everyagent.agents.hook_server import HookServer
from everyagent.agents.program_adapter import ProgramAdapter
from everyagent.agents.shared_servers import ServerKey, SharedServers


class CodexAdapter(ProgramAdapter):
    identity = program.IDENTITY
    offered = catalog.CAPABILITIES
    unasked = catalog.UNASKED

    def __init__(self, around: AdapterContext) -> None:
        super().__init__(around)
        self._servers = SharedServers(self._start, around.tasks)
        self._hook_server = HookServer(around.tasks)

    async def open(self, launch: Launch, listener: Listener) -> CodexConversation:
        binary = self._program.located()
        environment = launching.environment(launch.env, self._environment)
        hooks = await self._hook_server.open()
        wall = await self._wall(launch, environment, [program.home(environment)], [hooks.parent])
        key = ServerKey.of(launching.argv(binary, environment), environment, wall, launch.limits)
        own = launching.own_servers(environment)
        conversation = CodexConversation(
            launch,
            listener,
            self._tasks,
            self._reaper,
            self._hook_server,
            own,
            check_login=program.login(environment) is None,
        )
        await self._servers.open(key, conversation)
        return conversation

    async def close(self) -> None:
        await self._servers.close()
        await self._hook_server.close()
        await super().close()

    async def _start(self, key: ServerKey) -> AppServer:
        return await AppServer.ready(key, self._tasks, self._reaper)

    async def _ask(self, path: str) -> Catalog:
        environment = launching.environment({}, self._environment)
        key = ServerKey.of(launching.argv(path, environment, quiet=True), environment)
        return await catalog.asked(key, self._tasks, self._reaper)
