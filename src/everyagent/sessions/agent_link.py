"""A session's link to its agent: one conversation at a time, opened and closed within limits."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import anyio
from msgspec.structs import replace

from everyagent.agents.adapter import Adapter, Conversation, Death, Heard, Launch
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.sessions.limits import Limits

if TYPE_CHECKING:
    from everyagent.runtime.restricted_shell import RestrictedShell

logger = get_logger(__name__)


class Hearer(Protocol):
    """The actor, as the ears of its conversations know it."""

    async def heard(self, ear: "Ear", batch: Sequence[Heard]) -> None: ...
    async def died(self, ear: "Ear", death: Death) -> None: ...


class Ear:
    """The listener of one conversation. What comes through an earlier one's is not heard."""

    def __init__(self, hearer: Hearer) -> None:
        self._hearer = hearer
        self.dead = False

    async def heard(self, batch: Sequence[Heard]) -> None:
        await self._hearer.heard(self, batch)

    async def died(self, death: Death) -> None:
        self.dead = True
        await self._hearer.died(self, death)


class Link:
    def __init__(self, adapter: Adapter, hearer: Hearer, policy: Limits) -> None:
        self.adapter = adapter
        self.conversation: Conversation | None = None
        self._hearer = hearer
        self._policy = policy
        self._ear: Ear | None = None
        self._shell: RestrictedShell | None = None

    def hears(self, ear: Ear) -> bool:
        return ear is self._ear

    async def open(self, launch: Launch) -> Conversation | None:
        """A new conversation, not yet kept. None if it died before it was open: `died` tells of that."""
        self._ear = ear = Ear(self._hearer)
        try:
            with anyio.fail_after(self._policy.open_limit):
                conversation = await self.adapter.open(await self._shelled(launch), ear)
        except BaseException:
            self.drop()
            raise
        return None if ear.dead else conversation

    def drop(self) -> Conversation | None:
        """Hear no more of it; it may still have to be closed."""
        conversation, self.conversation, self._ear = self.conversation, None, None
        self._leave_shell()
        return conversation

    async def _shelled(self, launch: Launch) -> Launch:
        """With the shell that keeps commands to the session's hosts, for an agent that needs one."""
        if launch.hosts is None or (await self.adapter.catalog()).sandbox != "shell":
            return launch
        from everyagent.runtime.restricted_shell import (
            RestrictedShell,
        )  # loaded where it is needed: few sessions are limited

        self._shell = await RestrictedShell.open(launch.hosts, launch.scratch / "shell")
        return replace(launch, shell=self._shell)

    def _leave_shell(self) -> None:
        if self._shell:
            self._shell.close()
            self._shell = None

    async def close(self, conversation: Conversation | None, *, force: bool = True) -> None:
        if conversation is None:
            return
        try:
            with anyio.fail_after(self._policy.close_limit):
                await conversation.close(force=force)
        except (AgentFailed, TimeoutError) as error:
            logger.error("an agent did not close", agent=self.adapter.name, error=str(error))
        if conversation is self.conversation:
            self._leave_shell()

    async def interrupt(self, conversation: Conversation, over: asyncio.Event) -> None:
        """Ask politely; if the turn is not over in time, end the agent. If that fails too, it is dead to us."""
        with anyio.move_on_after(self._policy.interrupt_grace):
            try:
                await conversation.interrupt()
            except AgentFailed as error:
                logger.info("an interrupt did not reach the agent", agent=self.adapter.name, error=str(error))
            await over.wait()
        if not over.is_set():
            logger.warning("a turn did not stop, so its agent is ended", agent=self.adapter.name)
            ear = self._ear
            await self.close(conversation)
            if ear and not over.is_set():
                await self._hearer.died(ear, Death(expected=True))
