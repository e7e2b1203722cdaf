"""The base of adapters for installed programs: location, catalog, installation, process reaper."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from everyagent.agents import walls
from everyagent.agents.adapter import AgentState, Capabilities, Catalog, Conversation, Launch, Listener
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.installed import InstalledProgram, ProgramIdentity
from everyagent.runtime.reaper import Reaper
from everyagent.runtime.wall import Wall


class ProgramAdapter(ABC):
    """An adapter for a program on this machine. Subclasses open conversations with it."""

    identity: ClassVar[ProgramIdentity]
    offered: ClassVar[Capabilities]
    #: The catalog while the program is not installed.
    unasked: ClassVar[Catalog]

    def __init__(self, around: AdapterContext) -> None:
        self.name = self.identity.name
        self.title = self.identity.title
        self._tasks = around.tasks
        self._environment = around.environment
        self._reaper = around.reaper or Reaper()
        self._owns_reaper = around.reaper is None
        self._program = InstalledProgram(self.identity, around.folder, around.environment)

    @property
    def capabilities(self) -> Capabilities:
        return self.offered

    async def state(self) -> AgentState:
        return await self._program.state()

    async def catalog(self) -> Catalog:
        return await self._program.catalog(self._ask, self.unasked)

    async def install(self, *, reinstall: bool) -> AgentState:
        return await self._program.install(reinstall=reinstall)

    @abstractmethod
    async def open(self, launch: Launch, listener: Listener) -> Conversation: ...

    async def _wall(
        self, launch: Launch, environment: Mapping[str, str], native: Sequence[Path], needed: Sequence[Path] = ()
    ) -> Wall | None:
        """The wall around the session's agent, which may change `native` paths and read `needed` ones."""
        program = Path(self._program.located())
        return await walls.around(launch, environment, program=program, native=native, needed=needed)

    async def _ask(self, path: str) -> Catalog:
        """Start the program to list its catalog, if it can."""
        return self.unasked

    async def close(self) -> None:
        if self._owns_reaper:
            await self._reaper.close()
