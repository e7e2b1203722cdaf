"""Claude Code as an adapter: one process a session, a pinned version that can be installed."""

import os
from collections.abc import Mapping
from pathlib import Path

from anyio import to_thread
from anyio.abc import TaskGroup

from everyagent.agents.adapter import AgentState, Capabilities, Catalog, Launch, Listener
from everyagent.agents.claude import catalog, program
from everyagent.agents.claude import launch as launching
from everyagent.agents.claude.driver import ClaudeConversation
from everyagent.agents.installed import Installed
from everyagent.runtime.process import Process
from everyagent.runtime.warden import Warden


class ClaudeAdapter:
    """Conversations run as tasks of `nursery`. `folder` is where agents are installed.

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

    async def open(self, launch: Launch, listener: Listener) -> ClaudeConversation:
        binary = self._program.located()
        config = await to_thread.run_sync(launching.write_mcp_config, launch)
        process = await Process.start(
            launching.argv(binary, launch, config),
            directory=launch.directory,
            environment=launching.environment(launch, self._environment),
            warden=self._warden,
        )
        conversation = ClaudeConversation(process, launch, listener)
        await conversation.begin()
        self._nursery.start_soon(conversation.run)
        return conversation

    async def close(self) -> None:
        if self._owns_warden:
            await self._warden.close()

    async def _ask(self, path: str) -> Catalog:
        nobody = Launch(
            session_id="", directory=Path("/"), scratch=Path("/"), permission_mode="default", agent_mode="build"
        )
        environment = launching.environment(nobody, self._environment)
        return await catalog.asked(path, Path("/"), environment, self._warden)
