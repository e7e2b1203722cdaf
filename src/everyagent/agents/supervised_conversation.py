"""Conversations whose unforeseen exceptions end their own agent only. The registry opens all of them this way."""

from collections.abc import Awaitable, Sequence
from typing import TypeVar

import anyio
from msgspec.structs import replace

from everyagent.agents.adapter import Adapter, Change, Conversation, Death, DecodedFrame, Launch, Listener, Prompt
from everyagent.agents.supervision import death_by
from everyagent.errors import EveryagentError
from everyagent.logs import get_logger
from everyagent.model.asks import Answer

logger = get_logger(__name__)
T = TypeVar("T")
#: The time within which an agent must be gone after a fault.
CLOSE_LIMIT = 15.0
#: The exceptions that a conversation may raise by its contract, and that of a time limit set by its caller.
_FORESEEN = (EveryagentError, TimeoutError)


class SupervisedConversation:
    """Forwards calls in both directions. If a command raises an unforeseen exception, the agent is ended.

    The session gets one report of the death.
    """

    def __init__(self, adapter: Adapter, listener: Listener) -> None:
        self._adapter = adapter
        self._listener = listener
        self._inner: Conversation | None = None
        self._fault: Exception | None = None
        self._dead = False

    async def open(self, launch: Launch) -> Conversation:
        """Raises what `Adapter.open` may raise; any other exception is a death, too."""
        try:
            self._inner = await self._adapter.open(launch, self)
        except _FORESEEN:
            raise
        except Exception as fault:  # noqa: BLE001 - whatever it is, only this agent is lost
            await self._end(fault)
        return self

    # -- the session's listener ---------------------------------------------------------------------------------------

    async def received(self, batch: Sequence[DecodedFrame]) -> None:
        """Frames that arrive while a fault ends the agent are kept without events."""
        await self._listener.received([DecodedFrame(each.frame, ()) for each in batch] if self._fault else batch)

    async def died(self, death: Death) -> None:
        if self._dead:
            return
        self._dead = True
        if self._fault:
            death = replace(death_by(self._fault, self._adapter.title, death), expected=False)
        await self._listener.died(death)

    # -- the adapter's conversation -----------------------------------------------------------------------------------

    async def prompt(self, prompt: Prompt) -> None:
        await self._do(self._live.prompt(prompt), None)

    async def steer(self, prompt: Prompt) -> None:
        await self._do(self._live.steer(prompt), None)

    async def answer(self, ask_key: str, answer: Answer) -> None:
        await self._do(self._live.answer(ask_key, answer), None)

    async def interrupt(self) -> None:
        await self._do(self._live.interrupt(), None)

    async def interrupt_subagent(self, call: str) -> bool:
        return await self._do(self._live.interrupt_subagent(call), False)

    async def change(self, change: Change) -> bool:
        """True after a fault as well: the agent that is started next has the change."""
        return await self._do(self._live.change(change), True)

    async def close(self, *, force: bool = False) -> None:
        if self._inner:
            await self._do(self._inner.close(force=force), None)

    @property
    def _live(self) -> Conversation:
        assert self._inner, "a conversation that did not open was used"
        return self._inner

    async def _do(self, command: Awaitable[T], instead: T) -> T:
        try:
            return await command
        except _FORESEEN:
            raise
        except Exception as fault:  # noqa: BLE001 - whatever it is, only this agent is lost
            await self._end(fault)
            return instead

    async def _end(self, fault: Exception) -> None:
        """Log the fault, end the agent, and report its death if the agent's own conversation did not."""
        logger.exception("an internal error ends an agent", agent=self._adapter.name)
        self._fault = self._fault or fault
        with anyio.CancelScope(shield=True):
            if self._inner and not self._dead:
                try:
                    with anyio.fail_after(CLOSE_LIMIT):
                        await self._inner.close(force=True)
                except Exception as problem:  # noqa: BLE001 - its death is reported all the same
                    logger.error("an agent did not close after a fault", agent=self._adapter.name, error=repr(problem))
            await self.died(Death(expected=False))
