"""The adapter of the mock agent: always installed, needs no key."""

import os

from everyagent.agents import walls
from everyagent.agents.adapter import AgentState, Capabilities, Catalog, Launch, Listener
from everyagent.agents.line_conversation import ended_on_failure
from everyagent.agents.mock import launch as program
from everyagent.agents.mock.catalog import CAPABILITIES, CATALOG
from everyagent.agents.mock.driver import MockConversation
from everyagent.agents.supervision import TaskSupervisor
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper


class MockAdapter:
    """Conversations run as tasks of `tasks`. Without a `reaper` it brings its own, and closes it."""

    name = "mock"
    title = "Mock agent"

    def __init__(self, tasks: TaskSupervisor, reaper: Reaper | None = None) -> None:
        self._tasks = tasks
        self._reaper = reaper or Reaper()
        self._owns_reaper = reaper is None

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    async def state(self) -> AgentState:
        return program.state()

    async def catalog(self) -> Catalog:
        return CATALOG

    async def install(self, *, reinstall: bool) -> AgentState:
        return await self.state()

    async def open(self, launch: Launch, listener: Listener) -> MockConversation:
        environment = program.environment(launch, os.environ)
        process = await Process.start(
            program.argv(),
            directory=launch.directory,
            environment=environment,
            reaper=self._reaper,
            wall=await walls.around(launch, environment),
            limits=launch.limits,
            network=launch.shell.network if launch.shell else None,
        )
        async with ended_on_failure(process):
            conversation = MockConversation(process, listener)
            await conversation.begin(launch)
        self._tasks.start_soon(conversation.run)
        return conversation

    async def close(self) -> None:
        if self._owns_reaper:
            await self._reaper.close()
