"""Codex as an adapter: sessions share app-servers, and a pinned version can be installed."""

import os
from collections.abc import Mapping
from pathlib import Path

from anyio.abc import TaskGroup

from everyagent.agents.adapter import AgentState, Capabilities, Catalog, Launch, Listener
from everyagent.agents.codex import catalog, program
from everyagent.agents.codex import launch as launching
from everyagent.agents.codex.driver import CodexConversation
from everyagent.agents.codex.server import AppServer
from everyagent.agents.gate import Gate
from everyagent.agents.installed import Installed
from everyagent.agents.servers import Kind, Servers
from everyagent.errors import AgentFailed
from everyagent.runtime.warden import Warden


class CodexAdapter:
    """Conversations and app-servers run as tasks of `nursery`. `folder` is where agents are installed.

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
        self._environment = os.environ if environment is None else environment
        self._warden = warden or Warden()
        self._owns_warden = warden is None
        self._servers = Servers(self._start)
        self._gate = Gate(nursery)
        self._program = Installed(program.IDENTITY, folder, self._environment)

    @property
    def capabilities(self) -> Capabilities:
        return catalog.CAPABILITIES

    async def state(self) -> AgentState:
        return await self._program.state()

    async def catalog(self) -> Catalog:
        return await self._program.catalog(self._ask, catalog.UNASKED)

    async def install(self, *, reinstall: bool) -> AgentState:
        return await self._program.install(reinstall=reinstall)

    async def open(self, launch: Launch, listener: Listener) -> CodexConversation:
        binary = self._program.located()
        if not launch.directory.is_dir():
            raise AgentFailed(
                f"The session's directory {launch.directory} does not exist. Make it, or start another session."
            )
        environment = launching.environment(launch.env, self._environment)
        kind = Kind.of(launching.argv(binary, environment), environment)
        own = launching.own_servers(environment)
        conversation = CodexConversation(launch, listener, self._warden, self._gate, own)
        await self._servers.lodge(kind, conversation, lambda server: server.join(conversation), self._nursery)
        return conversation

    async def close(self) -> None:
        await self._servers.close()
        await self._gate.close()
        if self._owns_warden:
            await self._warden.close()

    async def _start(self, kind: Kind) -> AppServer:
        return await AppServer.ready(kind, self._nursery, self._warden)

    async def _ask(self, path: str) -> Catalog:
        environment = launching.environment({}, self._environment)
        kind = Kind.of(launching.argv(path, environment, quiet=True), environment)
        return await catalog.asked(kind, self._nursery, self._warden)
