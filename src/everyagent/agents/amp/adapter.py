"""Amp as an adapter: one process a session, a pinned version that can be installed, a gate for its delegates."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from anyio import to_thread
from anyio.abc import TaskGroup

from everyagent.agents.adapter import AgentState, Capabilities, Catalog, Launch, Listener
from everyagent.agents.amp import catalog, program
from everyagent.agents.amp import launch as launching
from everyagent.agents.amp.driver import AmpConversation
from everyagent.agents.gate import Gate
from everyagent.agents.installed import Installed
from everyagent.runtime.process import Process
from everyagent.runtime.warden import Warden


class AmpAdapter:
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
        self._gate = Gate(nursery)
        self._program = Installed(program.IDENTITY, folder, self._environment)

    @property
    def capabilities(self) -> Capabilities:
        return catalog.CAPABILITIES

    async def state(self) -> AgentState:
        return await self._program.state()

    async def catalog(self) -> Catalog:
        return catalog.CATALOG

    async def install(self, *, reinstall: bool) -> AgentState:
        return await self._program.install(reinstall=reinstall)

    async def open(self, launch: Launch, listener: Listener) -> AmpConversation:
        start = partial(self._start, launch, self._program.located())
        conversation = AmpConversation(launch, listener, self._nursery, self._gate, start)
        await conversation.begin()
        return conversation

    async def close(self) -> None:
        await self._gate.close()
        if self._owns_warden:
            await self._warden.close()

    async def _start(self, launch: Launch, binary: str, conversation: AmpConversation) -> Process:
        environment = launching.environment(launch, self._environment)
        door = launching.Door(socket=await self._gate.open(), token=conversation.token)
        mode, policies = conversation.mode, conversation.policies
        files = await to_thread.run_sync(launching.prepare, launch, environment, mode, policies, door)
        return await Process.start(
            launching.argv(binary, launch, files, conversation.thread),
            directory=launch.directory,
            environment=environment,
            warden=self._warden,
        )
