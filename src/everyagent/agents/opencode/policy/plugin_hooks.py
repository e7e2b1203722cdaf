"""Routes the daemon's OpenCode plugins to conversations: one hook server and one token for all servers."""

from pathlib import Path
from typing import Protocol

import anyio
import msgspec
from msgspec import Struct

from everyagent.agents.hook_server import HookServer
from everyagent.agents.memory import remember
from everyagent.agents.opencode.policy.policies import PluginCall
from everyagent.agents.supervision import TaskSupervisor

#: How long the event that names a sub-agent's session may take.
OWNER_LIMIT = 10.0
#: How long a server may take to load the plugin. On a busy machine that takes longer than 10 seconds.
LOAD_LIMIT = 40.0
#: Servers that have loaded the plugin and are remembered.
REMEMBERED = 256
_TICK = 0.02


class PluginMessage(Struct, frozen=True, rename={"call": "wish"}):
    """The plugin reports that it is loaded in the server of this name, or asks about a tool call."""

    hello: str | None = None
    call: PluginCall | None = None


class PolicedConversation(Protocol):
    def owns(self, session: str) -> bool: ...
    async def decide(self, call: PluginCall, body: bytes) -> str | None: ...
    async def fail(self, fault: Exception) -> None: ...


_messages = msgspec.json.Decoder(PluginMessage)


class PluginHooks:
    def __init__(self, tasks: TaskSupervisor) -> None:
        self.conversations: list[PolicedConversation] = []
        self._hook_server = HookServer(tasks)
        self._token = self._hook_server.admit(self._decide)
        self._loaded: dict[str, None] = {}

    async def environment(self) -> dict[str, str]:
        """The variables by which a server's plugin finds the hook server."""
        socket: Path = await self._hook_server.open()
        return {"EVERYAGENT_HOOK_SOCKET": str(socket), "EVERYAGENT_HOOK_TOKEN": self._token}

    async def folder(self) -> Path:
        """The folder of the hook server's socket."""
        return (await self._hook_server.open()).parent

    async def is_loaded(self, name: str) -> bool:
        """Waits until that server has loaded the plugin, which applies the policies. False if it has not."""
        with anyio.move_on_after(LOAD_LIMIT):
            while name not in self._loaded:
                await anyio.sleep(_TICK)
        return name in self._loaded

    async def close(self) -> None:
        await self._hook_server.close()

    async def _decide(self, body: bytes) -> str | None:
        try:
            message = _messages.decode(body)
        except (msgspec.MsgspecError, RecursionError):
            return "This call cannot be decoded, so it was rejected without asking."
        if message.hello is not None:
            remember(self._loaded, message.hello, None, REMEMBERED)
            return None
        call = message.call
        owner = await self._owner(call.session) if call else None
        if call is None or owner is None:
            return "This session has no business here any more."
        try:
            return await owner.decide(call, body)
        except Exception as fault:
            await owner.fail(fault)
            raise

    async def _owner(self, session: str) -> PolicedConversation | None:
        with anyio.move_on_after(OWNER_LIMIT):
            while True:
                for conversation in self.conversations:
                    if conversation.owns(session):
                        return conversation
                await anyio.sleep(_TICK)
        return None
