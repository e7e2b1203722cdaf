"""The adapter of Claude Code: one process for each session, in a pinned version that can be installed."""

from pathlib import Path

from anyio import to_thread

from everyagent.agents.adapter import Catalog, Launch, Listener
from everyagent.agents.claude import catalog, program
from everyagent.agents.claude import launch as launching
from everyagent.agents.claude.driver import ClaudeConversation
from everyagent.agents.line_conversation import ended_on_failure
from everyagent.agents.program_adapter import ProgramAdapter
from everyagent.runtime.process import Process


class ClaudeAdapter(ProgramAdapter):
    identity = program.IDENTITY
    offered = catalog.CAPABILITIES
    unasked = catalog.UNASKED

    async def open(self, launch: Launch, listener: Listener) -> ClaudeConversation:
        binary = self._program.located()
        config = await to_thread.run_sync(launching.write_mcp_config, launch)
        environment = launching.environment(launch, self._environment)
        process = await Process.start(
            launching.argv(binary, launch, config),
            directory=launch.directory,
            environment=environment,
            reaper=self._reaper,
            wall=await self._wall(launch, environment, program.native(environment)),
            limits=launch.limits,
            network=launch.shell.network if launch.shell else None,
        )
        async with ended_on_failure(process):
            conversation = ClaudeConversation(process, launch, listener)
            await conversation.begin()
        self._tasks.start_soon(conversation.run)
        return conversation

    async def _ask(self, path: str) -> Catalog:
        nobody = Launch(
            session_id="", directory=Path("/"), scratch=Path("/"), permission_mode="default", agent_mode="build"
        )
        environment = launching.environment(nobody, self._environment)
        return await catalog.asked(path, Path("/"), environment, self._reaper)
