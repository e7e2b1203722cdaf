"""An adapter that is loaded when it is first needed: a daemon starts without those nobody asks for."""

from collections.abc import Callable

from everyagent.agents.adapter import Adapter, AgentState, Capabilities, Catalog, Conversation, Launch, Listener


class LazyAdapter:
    def __init__(self, name: str, title: str, load: Callable[[], Adapter]) -> None:
        self.name = name
        self.title = title
        self._load = load
        self._loaded: Adapter | None = None

    @property
    def _adapter(self) -> Adapter:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

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
        return await self._adapter.open(launch, listener)

    async def close(self) -> None:
        if self._loaded is not None:
            await self._loaded.close()
