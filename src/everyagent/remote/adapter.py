"""The adapter of an agent on a runner: what it offers is that of the daemon's adapter, its process runs elsewhere."""

from typing import cast

from everyagent.agents.adapter import Adapter, AgentState, Capabilities, Catalog, Conversation, Launch, Listener
from everyagent.model.isolation import Isolation
from everyagent.model.runners import Mark
from everyagent.remote.conversation import RunnerListener
from everyagent.remote.keys import RunnerId
from everyagent.remote.runners import Runners
from everyagent.remote.wire import RemoteLaunch


class RemoteAdapter:
    def __init__(self, adapter: Adapter, runners: Runners, runner: RunnerId) -> None:
        self._adapter = adapter
        self._runners = runners
        self._runner = runner
        self.name = adapter.name
        self.title = adapter.title

    @property
    def capabilities(self) -> Capabilities:
        return self._adapter.capabilities

    async def state(self) -> AgentState:
        return await self._adapter.state()

    async def catalog(self) -> Catalog:
        return await self._adapter.catalog()

    async def install(self, *, reinstall: bool) -> AgentState:
        return await self._adapter.install(reinstall=reinstall)

    async def open(self, launch: Launch, listener: Listener) -> Conversation:
        """The listener is that of a session, which stores marks."""
        remote = cast("RunnerListener", listener)
        wanted = _remote(self.name, launch, remote.isolation)
        return await self._runners.open(self._runner, launch.session_id, remote, wanted)

    def attach(self, session_id: str, mark: Mark, listener: RunnerListener) -> Conversation:
        """Go on with a conversation that was open when the daemon ended."""
        return self._runners.attach(self._runner, session_id, mark, listener)

    async def close(self) -> None:
        """The daemon's adapter is closed by its owner."""


def _remote(agent: str, launch: Launch, isolation: Isolation | None) -> RemoteLaunch:
    directory = str(launch.directory)
    return RemoteLaunch(
        agent=agent,
        directory="" if directory == "." else directory,
        **launch.options(),
        hosts=None if launch.hosts is None else [*launch.hosts],
        isolation=isolation,
        limits=launch.limits.values,
        confined=launch.confined_to is not None,
    )
