"""Which conversation a plugin's question is for: one gate, one token, all servers of the adapter."""

from pathlib import Path
from typing import Protocol

import anyio
import msgspec
from msgspec import Struct

from everyagent.agents.hook_server import Gate
from everyagent.agents.opencode.policy.policies import Wish
from everyagent.agents.supervision import TaskSupervisor

#: How long the event that names a sub-agent's session may take, and a plugin to be loaded.
OWNER_LIMIT = 10.0
_TICK = 0.02


class Said(Struct, frozen=True):
    """By the plugin: that it is loaded, in the process of this number; or what is about to be done."""

    hello: int | None = None
    wish: Wish | None = None


class Guarded(Protocol):
    """A conversation."""

    def owns(self, session: str) -> bool: ...
    async def wish(self, wish: Wish, body: bytes) -> str | None: ...


_said = msgspec.json.Decoder(Said)


class Guards:
    def __init__(self, tasks: TaskSupervisor) -> None:
        self.conversations: list[Guarded] = []
        self._gate = Gate(tasks)
        self._token = self._gate.admit(self._attend)
        self._loaded: set[int] = set()

    async def door(self) -> dict[str, str]:
        """The variables by which a server's plugin finds the gate."""
        gate: Path = await self._gate.open()
        return {"EVERYAGENT_GATE": str(gate), "EVERYAGENT_GATE_TOKEN": self._token}

    async def stands(self, pid: int) -> bool:
        """Whether that server has loaded the plugin; without it nothing would be asked."""
        with anyio.move_on_after(OWNER_LIMIT):
            while pid not in self._loaded:
                await anyio.sleep(_TICK)
        return pid in self._loaded

    async def close(self) -> None:
        await self._gate.close()

    async def _attend(self, body: bytes) -> str | None:
        try:
            said = _said.decode(body)
        except (msgspec.MsgspecError, RecursionError):
            return "This call cannot be read, so nobody can be asked about it."
        if said.hello is not None:
            self._loaded.add(said.hello)
            return None
        wish = said.wish
        owner = await self._owner(wish.session) if wish else None
        return await owner.wish(wish, body) if wish and owner else "This session has no business here any more."

    async def _owner(self, session: str) -> Guarded | None:
        with anyio.move_on_after(OWNER_LIMIT):
            while True:
                for conversation in self.conversations:
                    if conversation.owns(session):
                        return conversation
                await anyio.sleep(_TICK)
        return None
