"""The connection of a session to its agent: one conversation at a time, opened and closed within limits."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, assert_never

import anyio
from msgspec.structs import replace

from everyagent.agents.adapter import Adapter, Change, Conversation, Death, DecodedFrame, Launch, Prompt
from everyagent.agents.walls import shared_scratch
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.asks import ToolAnswer
from everyagent.model.isolation import Isolation
from everyagent.model.runners import Mark
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine.effects import ChangeAgent, InterruptSubagent, PassAnswer, SteerAgent

if TYPE_CHECKING:
    from everyagent.remote import wire
    from everyagent.runtime.restricted_shell import RestrictedShell
    from everyagent.runtime.walled_shell import WalledShell

ConversationCommand: TypeAlias = SteerAgent | PassAnswer | ChangeAgent
AgentCommand: TypeAlias = ConversationCommand | InterruptSubagent
logger = get_logger(__name__)


class AgentEvents(Protocol):
    """The session's actor, as the listeners of its conversations know it."""

    async def received(self, listener: "ConversationListener", frames: Sequence[DecodedFrame]) -> None: ...
    async def died(self, listener: "ConversationListener", death: Death) -> None: ...


class RemoteAgentEvents(AgentEvents, Protocol):
    """The actor of a session whose agent may run on a runner."""

    async def received_once(
        self, listener: "ConversationListener", frames: Sequence[DecodedFrame], mark: Mark
    ) -> bool: ...
    async def missed(self, held: "wire.Held") -> "Sequence[wire.Action]": ...
    def listens_to(self, listener: "ConversationListener") -> bool: ...
    @property
    def mark(self) -> Mark | None: ...
    @property
    def isolation(self) -> Isolation | None: ...


class ConversationListener:
    """The listener of one conversation. The actor ignores listeners of earlier conversations."""

    __slots__ = ("_events", "dead")

    def __init__(self, events: AgentEvents) -> None:
        self._events = events
        self.dead = False

    async def received(self, batch: Sequence[DecodedFrame]) -> None:
        await self._events.received(self, batch)

    async def died(self, death: Death) -> None:
        self.dead = True
        await self._events.died(self, death)


class RemoteListener(ConversationListener):
    """The listener of a conversation on a runner: a `RunnerListener`."""

    __slots__ = ("_remote_events",)

    def __init__(self, events: RemoteAgentEvents) -> None:
        super().__init__(events)
        self._remote_events = events

    async def received_once(self, batch: Sequence[DecodedFrame], mark: Mark) -> bool:
        return await self._remote_events.received_once(self, batch, mark)

    @property
    def dropped(self) -> bool:
        return not self._remote_events.listens_to(self)

    @property
    def mark(self) -> Mark | None:
        return self._remote_events.mark

    @property
    def isolation(self) -> Isolation | None:
        return self._remote_events.isolation

    async def missed(self, held: "wire.Held") -> "Sequence[wire.Action]":
        return await self._remote_events.missed(held)


class AgentLink:
    """`listener` makes the listener of a new conversation, if it is not the usual one."""

    __slots__ = ("_events", "_limits", "_listener", "_new_listener", "_shell", "adapter", "conversation")

    def __init__(
        self,
        adapter: Adapter,
        events: AgentEvents,
        limits: Limits,
        listener: Callable[[], ConversationListener] | None = None,
    ) -> None:
        self._new_listener = listener or (lambda: ConversationListener(events))
        self.adapter = adapter
        self.conversation: Conversation | None = None
        self._events = events
        self._limits = limits
        self._listener: ConversationListener | None = None
        self._shell: RestrictedShell | WalledShell | None = None

    @property
    def listening(self) -> bool:
        """A conversation is open, or being opened."""
        return self._listener is not None

    def listens_to(self, listener: ConversationListener) -> bool:
        return listener is self._listener

    async def open(self, launch: Launch) -> Conversation | None:
        """A new conversation, not yet kept. None if it died before it was open: `died` reports that."""
        self._listener = listener = self._new_listener()
        try:
            with anyio.fail_after(self._limits.open_limit):
                conversation = await self.adapter.open(await self._with_shell(self._with_scratch(launch)), listener)
        except BaseException:
            self.drop()
            raise
        return None if listener.dead else conversation

    def attach(self, conversation: Conversation, listener: ConversationListener) -> None:
        """Go on with a conversation that was open before."""
        self.conversation, self._listener = conversation, listener

    def drop(self) -> Conversation | None:
        """Stop listening to the conversation; it may still have to be closed."""
        conversation, self.conversation, self._listener = self.conversation, None, None
        self._close_shell()
        return conversation

    async def _with_shell(self, launch: Launch) -> Launch:
        """With the shell that limits commands to the session's hosts, for an agent that needs one."""
        if launch.hosts is None or (await self.adapter.catalog()).sandbox != "shell":
            return launch
        # loaded on demand: few sessions are limited
        if launch.isolation == "none":
            from everyagent.runtime.restricted_shell import RestrictedShell as Shell
        else:
            from everyagent.runtime.walled_shell import WalledShell as Shell
        self._shell = await Shell.open(launch.hosts, launch.scratch / "shell")
        return replace(launch, shell=self._shell)

    def _with_scratch(self, launch: Launch) -> Launch:
        """With the scratch folder that its wall shows, for an agent whose process several sessions share."""
        if launch.isolation == "none" or launch.hosts is not None or not self.adapter.capabilities.shared_process:
            return launch
        return replace(launch, scratch=shared_scratch(launch))

    def _close_shell(self) -> None:
        if self._shell:
            self._shell.close()
            self._shell = None

    async def close(self, conversation: Conversation | None, *, force: bool = True) -> None:
        if conversation is None:
            return
        try:
            with anyio.fail_after(self._limits.close_limit):
                await conversation.close(force=force)
        except (AgentFailed, TimeoutError) as error:
            logger.error("an agent did not close", agent=self.adapter.name, error=str(error))
        if conversation is self.conversation:
            self._close_shell()

    async def command(self, command: ConversationCommand) -> bool:
        """Pass a command on. False: the agent must be restarted for it."""
        conversation = self.conversation
        if conversation is None:
            return True
        match command:
            case SteerAgent():
                await conversation.steer(command.prompt)
            case PassAnswer():
                if not isinstance(command.answer, ToolAnswer):
                    await conversation.answer(command.key, command.answer)
            case ChangeAgent():
                return await conversation.change(command.change)
            case _:
                assert_never(command)
        return True

    async def instructed(self, prompt: Prompt | None) -> bool:
        """Give the instructions of a turn to an agent that runs. False: it must be restarted for them."""
        if prompt is None or not prompt.system or self.conversation is None:
            return True
        return await self.conversation.change(Change(system_message=prompt.system))

    async def interrupt(self, conversation: Conversation, over: asyncio.Event) -> None:
        """Ask for the turn to be stopped; if it is not over in time, end the agent, and give it up if that fails."""
        with anyio.move_on_after(self._limits.interrupt_grace):
            try:
                await conversation.interrupt()
            except AgentFailed as error:
                logger.info("an interrupt did not reach the agent", agent=self.adapter.name, error=str(error))
            await over.wait()
        if not over.is_set():
            logger.warning("a turn did not stop, so its agent is ended", agent=self.adapter.name)
            listener = self._listener
            await self.close(conversation)
            if listener and not over.is_set():
                await self._events.died(listener, Death(expected=True))
