"""Codex as an adapter: sessions share app-servers, and a pinned version can be installed."""

from everyagent.agents.adapter import Catalog, Launch, Listener
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.codex import catalog, program
from everyagent.agents.codex import launch as launching
from everyagent.agents.codex.driver.driver import CodexConversation
from everyagent.agents.codex.driver.server import AppServer
from everyagent.agents.hook_server import Gate
from everyagent.agents.program_adapter import ProgramAdapter
from everyagent.agents.shared_servers import Kind, Servers
from everyagent.errors import AgentFailed


class CodexAdapter(ProgramAdapter):
    identity = program.IDENTITY
    offered = catalog.CAPABILITIES
    unasked = catalog.UNASKED

    def __init__(self, around: AdapterContext) -> None:
        super().__init__(around)
        self._servers = Servers(self._start)
        self._gate = Gate(around.tasks)

    async def open(self, launch: Launch, listener: Listener) -> CodexConversation:
        binary = self._program.located()
        if not launch.directory.is_dir():
            raise AgentFailed(
                f"The session's directory {launch.directory} does not exist. Make it, or start another session."
            )
        environment = launching.environment(launch.env, self._environment)
        kind = Kind.of(launching.argv(binary, environment), environment)
        own = launching.own_servers(environment)
        conversation = CodexConversation(launch, listener, self._reaper, self._gate, own)
        await self._servers.lodge(kind, conversation, lambda server: server.join(conversation), self._tasks)
        return conversation

    async def close(self) -> None:
        await self._servers.close()
        await self._gate.close()
        await super().close()

    async def _start(self, kind: Kind) -> AppServer:
        return await AppServer.ready(kind, self._tasks, self._reaper)

    async def _ask(self, path: str) -> Catalog:
        environment = launching.environment({}, self._environment)
        kind = Kind.of(launching.argv(path, environment, quiet=True), environment)
        return await catalog.asked(kind, self._tasks, self._reaper)
