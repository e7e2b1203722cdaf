"""The adapter of ACP agents: one object for each profile, one process for each session."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from anyio import to_thread
from msgspec.structs import replace

from everyagent.agents import walls
from everyagent.agents.acp import catalog
from everyagent.agents.acp import launch as launching
from everyagent.agents.acp.driver import AcpConversation
from everyagent.agents.acp.profile import Profile
from everyagent.agents.acp.program import login, program_of, state_of
from everyagent.agents.acp.terminals import Terminals
from everyagent.agents.adapter import AgentState, Capabilities, Catalog, Death, DecodedFrame, Launch, Listener
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.line_conversation import ended_on_failure
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper
from everyagent.runtime.wall import Wall

#: An agent that did not list its models is asked again after so many seconds.
ASK_PAUSE = 300.0


class AcpAdapter:
    """An adapter for the agent that `profile` describes."""

    def __init__(self, profile: Profile, around: AdapterContext) -> None:
        self.name = profile.name
        self.title = profile.title
        self._profile = profile
        self._tasks = around.tasks
        self._environment = around.environment
        self._reaper = around.reaper or Reaper()
        self._owns_reaper = around.reaper is None
        self._program = program_of(profile, around.folder, around.environment)
        self._unasked = catalog.unasked(profile)
        self._ask_again = 0.0
        self._version: str | None = None

    @property
    def capabilities(self) -> Capabilities:
        return catalog.capabilities(self._profile)

    async def state(self) -> AgentState:
        """A program of the user's own has the version that it reported when it was last started."""
        state = await state_of(self._profile, self._program)
        return state if state.version else replace(state, version=self._version)

    async def catalog(self) -> Catalog:
        """Without a login the agent lists nothing, so it is not started. A failure is remembered for a while."""
        known = self._profile.npm or self._profile.pypi
        unlisted = known is not None and login(self._profile, self._environment) is None
        if unlisted or time.monotonic() < self._ask_again:
            return self._unasked
        asked = await self._program.catalog(self._ask, self._unasked)
        if asked is self._unasked:
            self._ask_again = time.monotonic() + ASK_PAUSE
        return asked

    async def install(self, *, reinstall: bool) -> AgentState:
        return await self._program.install(reinstall=reinstall)

    async def open(self, launch: Launch, listener: Listener) -> AcpConversation:
        conversation = await self._start(self._program.located(), launch, listener)
        async with ended_on_failure(conversation.process):
            try:
                await conversation.begin()
            except Exception as fault:
                await conversation.fail(fault)
                raise
        self._version = conversation.version or self._version
        return conversation

    async def close(self) -> None:
        if self._owns_reaper:
            await self._reaper.close()

    async def _start(self, path: str, launch: Launch, listener: Listener) -> AcpConversation:
        profile = self._profile
        argv = await to_thread.run_sync(partial(launching.argv, profile, path, launch))
        environment = launching.environment(profile, launch, self._environment)
        wall = await self._wall(path, argv, launch, environment)
        process = await Process.start(
            argv,
            directory=launch.directory,
            environment=environment,
            reaper=self._reaper,
            wall=wall,
            limits=launch.limits,
            network=launch.shell.network if launch.shell else None,
        )
        terminals = Terminals(launch.directory, environment, self._tasks, self._reaper, wall, launch.limits)
        conversation = AcpConversation(profile, process, launch, listener, self._tasks, terminals)
        self._tasks.start_soon(conversation.run)
        return conversation

    async def _wall(
        self, path: str, argv: Sequence[str], launch: Launch, environment: Mapping[str, str]
    ) -> Wall | None:
        """The wall around the session's agent and its terminals."""
        home = Path(environment.get("HOME") or Path.home())
        native = [home / folder for folder in self._profile.native_homes]
        needed = [Path(word) for word in argv if word.startswith("/")]
        return await walls.around(launch, environment, program=Path(path), native=native, needed=needed)

    async def _ask(self, path: str) -> Catalog:
        """Start the program in an empty folder only to list its modes and models."""
        with tempfile.TemporaryDirectory(prefix="everyagent-") as folder:
            place = Path(folder)
            launch = Launch(
                session_id="", directory=place, scratch=place, permission_mode="default", agent_mode="build"
            )
            conversation = await self._start(path, launch, _Nobody())
            try:
                offers, _ = await conversation.offers()
                self._version = conversation.version or self._version
            finally:
                await conversation.close(force=True)
        return catalog.catalog(self._profile, offers)


class _Nobody:
    """A listener to whom nothing matters."""

    async def received(self, batch: Sequence[DecodedFrame]) -> None: ...

    async def died(self, death: Death) -> None: ...
