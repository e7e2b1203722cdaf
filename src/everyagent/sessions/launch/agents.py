"""The agents of a daemon, with their models, modes and capabilities."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from anyio import to_thread
from msgspec import Struct
from msgspec.structs import replace

from everyagent.agents.adapter import Adapter, AgentState, Capabilities, Catalog
from everyagent.agents.logins import login_command
from everyagent.agents.stability import Stability, stability_of
from everyagent.errors import UnknownAgent, UnsupportedChoice
from everyagent.logs import get_logger
from everyagent.model.isolation import Isolation
from everyagent.model.sessions import UnknownFrame
from everyagent.sessions.counts import Counts, CountsByWorkspace
from everyagent.sessions.launch.isolation import IsolationPolicy

logger = get_logger(__name__)


class Installing(Struct, frozen=True, kw_only=True):
    """The latest installation of an agent since the daemon started.

    `bytes` were downloaded so far; the total is unknown. When it is done, they are the size of the agent's folder.
    """

    state: Literal["idle", "running", "done", "failed"] = "idle"
    bytes: int = 0
    seconds: float = 0.0
    error: str | None = None


class AgentInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent and its state. `unknownFrames` counts its frames of unknown type since the daemon started.

    `isolation` is the level of its sessions that name none, null if the server's default is not available;
    `isolations` are the levels that a session can have. `loginCommand` logs in, in a terminal of the daemon's machine.
    `stability` is `experimental` where the agent's protocol lacks part of what the universal schema has; `gaps` says
    what it leaves out.
    """

    id: str
    title: str
    installed: bool
    credentials_available: bool
    version: str | None
    tested_version: str | None
    path: str | None
    login: str | None
    problem: str | None
    capabilities: Capabilities
    unknown_frames: int
    installation: Installing
    isolation: Isolation | None = None
    isolations: list[Isolation] = []
    login_command: str | None = None
    stability: Stability = "experimental"
    gaps: Sequence[str] = ()


class Agents:
    """Agents are installed in `folder`, each in a folder of its name.

    `added` returns the adapters of agents that were added to the settings since its last call.
    """

    def __init__(
        self,
        adapters: Sequence[Adapter],
        folder: Path | None = None,
        added: Callable[[], Sequence[Adapter]] = lambda: (),
        isolation: IsolationPolicy | None = None,
    ) -> None:
        self._adapters = {adapter.name: adapter for adapter in adapters}
        self._folder = folder
        self._added = added
        self.isolation = isolation or IsolationPolicy()
        self._installing: dict[str, Installing] = {}
        self._begun: dict[str, float] = {}
        self.all_counts = CountsByWorkspace()

    @property
    def counts(self) -> Counts:
        """The counts of the workspace that the current principal sees."""
        return self.all_counts.seen()

    def names(self) -> list[str]:
        return list(self._known())

    def _known(self) -> dict[str, Adapter]:
        for adapter in self._added():
            self._adapters.setdefault(adapter.name, adapter)
        return self._adapters

    def adapter(self, name: str) -> Adapter:
        adapter = self._adapters.get(name) or self._known().get(name)
        if adapter is None:
            raise UnknownAgent(
                f"There is no agent {name!r}. There is: {', '.join(self._adapters)}.", agent=name, agents=self.names()
            )
        return adapter

    async def infos(self) -> list[AgentInfo]:
        return [await self._info(adapter) for adapter in list(self._known().values())]

    async def states(self) -> dict[str, AgentState]:
        """The states without capabilities, which need no adapter to be loaded."""
        return {name: (await self._look(adapter, loaded=False))[0] for name, adapter in list(self._known().items())}

    async def _look(self, adapter: Adapter, *, loaded: bool) -> tuple[AgentState, Capabilities]:
        """An adapter that raises is reported as a problem of its agent, and does not affect the others."""
        try:
            capabilities = adapter.capabilities if loaded else Capabilities()
            return await adapter.state(), capabilities
        except Exception as error:
            logger.exception("could not read the state of an agent", agent=adapter.name)
            problem = f"It cannot be used: {error}"
            return AgentState(installed=False, credentials_available=False, problem=problem), Capabilities()

    async def _info(self, adapter: Adapter) -> AgentInfo:
        state, capabilities = await self._look(adapter, loaded=True)
        isolations = await self.isolation.available()
        return AgentInfo(
            id=adapter.name,
            title=adapter.title,
            installed=state.installed,
            credentials_available=state.credentials_available,
            version=state.version,
            tested_version=state.tested_version,
            path=state.path,
            login=state.login,
            login_command=login_command(adapter.name),
            problem=state.problem,
            capabilities=capabilities,
            unknown_frames=self.counts.unknown_frames[adapter.name],
            installation=await self.installing(adapter.name),
            isolation=await self.isolation.default_level(),
            isolations=isolations,
            stability=stability_of(adapter.name),
            gaps=state.gaps,
        )

    async def models(self, agent: str) -> Catalog:
        return await self.adapter(agent).catalog()

    async def install(self, agent: str, *, reinstall: bool) -> None:
        adapter = self.adapter(agent)
        self._begun[agent] = time.monotonic()
        self._installing[agent] = Installing(state="running")
        try:
            await adapter.install(reinstall=reinstall)
        except BaseException as error:
            self._installing[agent] = Installing(
                state="failed", seconds=self._seconds(agent), error=str(error) or "It was stopped."
            )
            raise
        size = await self._bytes(agent, installed=True)
        self._installing[agent] = Installing(state="done", bytes=size, seconds=self._seconds(agent))

    async def installing(self, agent: str) -> Installing:
        self.adapter(agent)
        latest = self._installing.get(agent, Installing())
        if latest.state != "running":
            return latest
        return replace(latest, bytes=await self._bytes(agent, installed=False), seconds=self._seconds(agent))

    def unknown_frames(self, agent: str) -> list[UnknownFrame]:
        """Samples of the agent's frames of unknown type, newest first."""
        self.adapter(agent)
        return list(reversed(self.counts.unknown_samples[agent]))

    async def _bytes(self, agent: str, *, installed: bool) -> int:
        from everyagent.agents import packages  # loaded when needed: most daemons never install an agent

        if self._folder is None:
            return 0
        return await to_thread.run_sync(packages.size if installed else packages.fetched, self._folder / agent)

    def _seconds(self, agent: str) -> float:
        return round(time.monotonic() - self._begun[agent], 3)

    async def close(self) -> None:
        for adapter in self._adapters.values():
            await adapter.close()


class Choice(Struct, frozen=True, kw_only=True):
    """Model, variant and modes, checked against the agent's catalog."""

    model: str | None
    variant: str | None
    agent_mode: str
    permission_mode: str


def choose(
    catalog: Catalog, *, model: str | None, variant: str | None, agent_mode: str | None, permission_mode: str | None
) -> Choice:
    """The requested choices, or the agent's defaults. Raises an error that lists the possible values."""
    agent_modes = [mode.id for mode in catalog.agent_modes]
    permission_modes = [mode.id for mode in catalog.permission_modes]
    models = {known.id: known for known in catalog.models}
    if agent_mode is None:
        agent_mode = agent_modes[0] if agent_modes else ""
    elif agent_mode not in agent_modes:
        raise _unsupported("agentMode", agent_mode, agent_modes)
    if permission_mode is None:
        permission_mode = "default"
    elif permission_mode not in permission_modes:
        raise _unsupported("permissionMode", permission_mode, permission_modes)
    if model is not None and model not in models and not catalog.open_models:
        raise _unsupported("model", model, list(models))
    known = models.get(model or catalog.default_model or "")
    if variant is not None and known and variant not in known.variants:
        raise _unsupported("variant", variant, known.variants)
    return Choice(model=model, variant=variant, agent_mode=agent_mode, permission_mode=permission_mode)


def _unsupported(field: str, value: str, known: list[str]) -> UnsupportedChoice:
    return UnsupportedChoice(
        f"`{field}` cannot be {value!r} for this agent. It can be: {', '.join(known) or 'nothing, leave it out'}.",
        field=field,
        choices=known,
    )
