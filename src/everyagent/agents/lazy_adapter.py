"""Adapters that are loaded at their first use, so that the daemon starts fast."""

from collections.abc import Awaitable, Callable

from everyagent.agents.adapter import Adapter, AgentState, Capabilities, Catalog, Conversation, Launch, Listener
from everyagent.agents.supervised_conversation import SupervisedConversation


class LazyAdapter:
    """Reports the agent's state by `state` until the adapter is loaded. Its conversations are supervised."""

    def __init__(
        self, name: str, title: str, load: Callable[[], Adapter], state: Callable[[str], Awaitable[AgentState]]
    ) -> None:
        self.name = name
        self.title = title
        self._load = load
        self._state = state
        self._loaded: Adapter | None = None

    @property
    def loaded(self) -> Adapter:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    @property
    def capabilities(self) -> Capabilities:
        return self.loaded.capabilities

    async def state(self) -> AgentState:
        return await (self._loaded.state() if self._loaded else self._state(self.name))

    async def catalog(self) -> Catalog:
        return await self.loaded.catalog()

    async def install(self, *, reinstall: bool) -> AgentState:
        return await self.loaded.install(reinstall=reinstall)

    async def open(self, launch: Launch, listener: Listener) -> Conversation:
        return await SupervisedConversation(self.loaded, listener).open(launch)

    async def close(self) -> None:
        if self._loaded is not None:
            await self._loaded.close()
