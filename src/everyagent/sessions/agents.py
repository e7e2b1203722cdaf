"""The agents this daemon knows, and what each offers."""

from collections.abc import Sequence

from msgspec import Struct

from everyagent.agents.adapter import Adapter, AgentState, Capabilities, Catalog
from everyagent.errors import UnknownAgent, UnsupportedChoice
from everyagent.logs import get_logger
from everyagent.sessions.counts import Counts

logger = get_logger(__name__)


class AgentInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """`unknown_frames` counts what this agent said since the daemon started that nobody knew."""

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


class Agents:
    def __init__(self, adapters: Sequence[Adapter]) -> None:
        self._adapters = {adapter.name: adapter for adapter in adapters}
        self.counts = Counts()

    def names(self) -> list[str]:
        return list(self._adapters)

    def adapter(self, name: str) -> Adapter:
        adapter = self._adapters.get(name)
        if adapter is None:
            raise UnknownAgent(
                f"There is no agent {name!r}. There is: {', '.join(self._adapters)}.", agent=name, agents=self.names()
            )
        return adapter

    async def infos(self) -> list[AgentInfo]:
        return [await self._info(adapter) for adapter in self._adapters.values()]

    async def _info(self, adapter: Adapter) -> AgentInfo:
        """An adapter that fails is one that does not work here; the others do."""
        try:
            state, capabilities = await adapter.state(), adapter.capabilities
        except Exception as error:
            logger.exception("an agent could not be looked at", agent=adapter.name)
            state = AgentState(installed=False, credentials_available=False, problem=f"It cannot be used: {error}")
            capabilities = Capabilities()
        return AgentInfo(
            id=adapter.name,
            title=adapter.title,
            installed=state.installed,
            credentials_available=state.credentials_available,
            version=state.version,
            tested_version=state.tested_version,
            path=state.path,
            login=state.login,
            problem=state.problem,
            capabilities=capabilities,
            unknown_frames=self.counts.unknown_frames[adapter.name],
        )

    async def models(self, agent: str) -> Catalog:
        return await self.adapter(agent).catalog()

    async def install(self, agent: str, *, reinstall: bool) -> None:
        await self.adapter(agent).install(reinstall=reinstall)

    async def close(self) -> None:
        for adapter in self._adapters.values():
            await adapter.close()


class Choice(Struct, frozen=True, kw_only=True):
    """Model, variant and modes, checked against what the agent has."""

    model: str | None
    variant: str | None
    agent_mode: str
    permission_mode: str


def choose(
    catalog: Catalog, *, model: str | None, variant: str | None, agent_mode: str | None, permission_mode: str | None
) -> Choice:
    """What was asked for, or the agent's defaults; an error that lists what there is."""
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
