"""Base class of a conversation with one native session on a shared server.

`codex/driver/driver.py` and `opencode/driver/driver.py` add the native requests and what is done with each message.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Generic, TypeVar

import anyio
from msgspec.structs import replace

from everyagent.agents.adapter import Death, DecodedFrame, Launch, Listener
from everyagent.agents.inbox import Inbox, InboxMessage
from everyagent.agents.shared_server import SharedServer
from everyagent.agents.supervision import TaskSupervisor, death_by
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger

#: How long a conversation that is cancelled may take to release everything.
RELEASE_LIMIT = 10.0
#: How long a native session may take to be stopped when its session leaves; a server that does not answer is ended.
PARTING_LIMIT = 3.0
#: A prompt of this word alone is a command, as in the agents themselves.
COMPACT = "/compact"

logger = get_logger(__name__)
M = TypeVar("M", bound=InboxMessage)


class SharedConversation(ABC, Generic[M]):
    """`run` is its own task: the only one that calls the listener. An exception of any part of it is its death."""

    #: The agent's name in error messages.
    title: ClassVar[str]

    def __init__(self, launch: Launch, listener: Listener, tasks: TaskSupervisor) -> None:
        """Raises `AgentFailed` if the session's directory does not exist."""
        if not launch.directory.is_dir():
            raise AgentFailed(
                f"The session's directory {launch.directory} does not exist. Make it, or start another session."
            )
        self.directory = str(launch.directory)
        self._launch = launch
        self._listener = listener
        self._tasks = tasks
        self._inbox: Inbox[M] = Inbox()
        self._death: Death | None = None
        self._closing = False
        self._faulty = False
        self._abandoned = False
        self._progress = asyncio.Event()
        self._over = anyio.Event()

    # -- as a session of the server -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def _shared(self) -> SharedServer[M] | None:
        """The server that it has joined."""

    def put(self, message: M | DecodedFrame) -> None:
        self._inbox.put(message)

    async def room(self) -> None:
        await self._inbox.room()

    def lose(self, death: Death) -> None:
        """The first death counts; messages that wait are still delivered."""
        if self._death is None:
            self._death = replace(death, expected=death.expected or self._closing)
            self._inbox.close()

    async def fail(self, fault: Exception) -> None:
        """The conversation's death by an unforeseen exception, which was logged."""
        self._faulty = True
        self.lose(death_by(fault, self.title, Death(expected=False)))

    # -- the end ------------------------------------------------------------------------------------------------

    async def close(self, *, force: bool = False) -> None:
        """The native session is given up with all it has running; the server stays for the others on it."""
        self._closing = True
        server = self._shared
        try:
            if server and self._death is None:
                if len(server.sessions) > 1 and not await self._part():
                    await server.stop(force=True, wedged=True)
                await server.leave(self, force=force)
        finally:
            self.lose(Death(expected=True))
            await self._over.wait()

    async def abandon(self) -> None:
        """The conversation could not be opened: the caller gets an exception in place of a death."""
        self._abandoned = True
        try:
            await self.close(force=True)
        except Exception:
            logger.exception("an agent did not close", agent=self.title, session=self._launch.session_id)

    async def ended_by_fault(self) -> bool:
        """True after a death by an internal fault was reported."""
        server = self._shared
        if server and not server.open:
            await server.over.wait()
        if self._death is None or self._death.code != "internal":
            return False
        await self._ended()
        return True

    async def _ended(self) -> None:
        """Returns when the death was reported."""
        await self._over.wait()

    async def _until(self, met: Callable[[], bool]) -> None:
        """Looks again after each batch that was decoded; returns also when there will be none."""
        while not met() and self._death is None:
            self._progress.clear()
            await self._progress.wait()

    # -- tasks --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        cancelled = False
        try:
            await self._listen()
        except anyio.get_cancelled_exc_class():
            cancelled = self._closing = True
            raise
        except Exception as fault:
            logger.exception("a conversation failed", agent=self.title, session=self._launch.session_id)
            await self.fail(fault)
        finally:
            self.lose(Death(expected=True))
            self._progress.set()
            try:
                with anyio.move_on_after(RELEASE_LIMIT if cancelled else None, shield=cancelled):
                    await self._leave()
                    if self._death and not self._abandoned:
                        await self._listener.died(self._death)
            finally:
                self._over.set()

    async def _listen(self) -> None:
        while True:
            decoded = await self._decode(await self._inbox.take())
            if decoded:
                await self._listener.received(decoded)
            await self._carry_out()
            self._progress.set()
            if self._death is not None and not self._inbox:
                return

    async def _leave(self) -> None:
        """However it ended, nothing of this session keeps the server alive or runs on there unattended."""
        for step in (self._release, self._leave_server):
            try:
                await step()
            except Exception:
                logger.exception("a conversation was not released", agent=self.title, session=self._launch.session_id)

    async def _leave_server(self) -> None:
        server = self._shared
        if server and self in server.sessions:
            try:
                if self._faulty and len(server.sessions) > 1:
                    with anyio.move_on_after(PARTING_LIMIT):
                        await self._try(self._halt())
            finally:
                await server.leave(self, force=True)

    def _spawn(self, run: Callable[[], Awaitable[object]]) -> None:
        """Starts a task next to `run`; failures of the agent are logged."""

        async def request() -> None:
            await self._try(run())

        self._tasks.start_soon(request, on_fault=self.fail)

    async def _try(self, request: Awaitable[object]) -> None:
        """A request that fails because the server ends needs no report: the death is reported."""
        try:
            await request
        except AgentFailed as failure:
            logger.info("a request failed", agent=self.title, session=self._launch.session_id, error=failure.detail)

    # -- for each agent -----------------------------------------------------------------------------------------

    @abstractmethod
    async def _decode(self, batch: Sequence[M | DecodedFrame]) -> list[DecodedFrame]: ...

    @abstractmethod
    async def _carry_out(self) -> None:
        """The effects that decoding the last batch asked for."""

    @abstractmethod
    async def _part(self) -> bool:
        """Stop what the native session runs and let go of it; False if the server does not answer."""

    @abstractmethod
    async def _halt(self) -> None:
        """Stops the native session after a fault, by requests that need no answer: nothing is decoded any more."""

    @abstractmethod
    async def _release(self) -> None:
        """Release what the conversation holds, except its place on the server."""
