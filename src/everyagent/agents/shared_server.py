"""Base class of a server process that sessions share: its start, the sessions on it, its faults and its death.

`codex/driver/server.py` and `opencode/driver/server.py` add the protocols.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import aclosing
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import anyio

from everyagent.agents.adapter import Death, DecodedFrame
from everyagent.agents.supervision import TaskSupervisor, death_by
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.runtime.framing import Line
from everyagent.runtime.process import GRACE, Process

#: How long a server that failed to start may take to exit, so that its error message can be read.
LAST_WORDS_LIMIT = 2.0

logger = get_logger(__name__)


M_contra = TypeVar("M_contra", contravariant=True)
M = TypeVar("M")


class ServerSession(Protocol[M_contra]):
    """A session on a shared server, which delivers messages `M` to it."""

    @property
    def directory(self) -> str: ...

    def put(self, message: M_contra | DecodedFrame) -> None:
        """Take it in, without waiting."""
        ...

    async def room(self) -> None:
        """Returns when the session can take more messages."""
        ...

    def lose(self, death: Death) -> None:
        """The server has ended. Nothing is delivered after this."""
        ...


class SharedServer(ABC, Generic[M]):
    """`open`: one more session can join. `over` is set when the process is gone; `death` then describes its end."""

    #: The server's name in error messages.
    title: ClassVar[str]
    #: Seconds between the steps of a polite stop.
    grace: ClassVar[float] = GRACE

    def __init__(self, process: Process, tasks: TaskSupervisor) -> None:
        self.open = True
        self.over = anyio.Event()
        self.death: Death | None = None
        self.sessions: list[ServerSession[M]] = []
        self._process = process
        self._tasks = tasks
        self._stopping = False
        self._fault: Death | None = None

    async def started(self) -> Self:
        """Returns when the server takes requests. Raises `AgentFailed` after the process was ended."""
        self._tasks.start_soon(self.run)
        try:
            await self._greet()
        except AgentFailed as failure:
            with anyio.move_on_after(LAST_WORDS_LIMIT):
                await self.over.wait()
            reason = self._fault or self.death
            await self.discard()
            why = (reason and reason.message) or failure.detail
            raise AgentFailed(f"{self.title} did not start. {why}") from failure
        except BaseException:
            await self.discard()
            raise
        return self

    async def discard(self) -> None:
        """End a server without sessions, and its process in any case. A fault in that is logged."""
        with anyio.CancelScope(shield=True):
            try:
                await self.stop(force=True)
            except Exception:
                logger.exception("a shared server was not stopped", server=self.title, pid=self._process.pid)
                self.open = False
                await self._process.stop(0)

    # -- sessions -----------------------------------------------------------------------------------------------

    def join(self, session: ServerSession[M]) -> None:
        self.sessions.append(session)

    async def leave(self, session: ServerSession[M], *, force: bool) -> None:
        """The last session to leave ends the process."""
        try:
            self._forget(session)
            if not self.sessions:
                await self.stop(force=force)
        except Exception:
            if not self.sessions:
                self.open = False
                await self._process.stop(0)  # no session is left that would end it
            raise

    def _forget(self, session: ServerSession[M]) -> None:
        if session in self.sessions:
            self.sessions.remove(session)

    # -- the process --------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Reads the process to its end, then reports the end to every session. Never raises but `CancelledError`."""
        try:
            async with aclosing(self._process.lines()) as batches:
                async for lines in batches:
                    await self._read(lines)
        except anyio.get_cancelled_exc_class():
            self._stopping = True
            raise
        except AgentFailed as failure:
            self._fault = Death(expected=False, message=failure.detail)
        except Exception as fault:  # noqa: BLE001 - logged; it ends this server only
            self._failed(fault)
        finally:
            self.open = False
            self.death = death = await self._end()
            ended = self.sessions.copy()
            self.sessions.clear()
            for session in ended:
                session.lose(death)
            self.over.set()
            with anyio.CancelScope(shield=True):
                await self._release()

    async def stop(self, *, force: bool = False, wedged: bool = False) -> None:
        """`wedged`: the server does not answer, so its sessions see an unexpected death."""
        self.open = False
        self._stopping = not wedged
        await self._process.stop(0 if force else self.grace)
        await self.over.wait()

    async def fail(self, fault: Exception) -> None:
        """End the server because a task that serves it raised an exception, which was logged."""
        self._fault = self._fault or death_by(fault, self.title, Death(expected=False))
        await self.stop(force=True)

    def _failed(self, fault: Exception) -> None:
        logger.exception("a shared server failed", server=self.title, pid=self._process.pid)
        self._fault = self._fault or death_by(fault, self.title, Death(expected=False))

    async def _end(self) -> Death:
        """Ends the process, if it has not ended by itself, with everything that it started."""
        try:
            exit = await self._process.stop(0)
        except AgentFailed as failure:
            return Death(expected=self._stopping, stderr=self._process.stderr, message=failure.detail)
        except Exception as fault:
            logger.exception("a shared server was not ended", server=self.title, pid=self._process.pid)
            return death_by(fault, self.title, Death(expected=False, stderr=self._process.stderr))
        if hit := self._process.limit_hit:
            return Death(expected=False, stderr=self._process.stderr, message=hit.message, code="limit_exceeded")
        words = self._process.last_error_line
        message = f"{self.title} ended with {exit}{f': {words}' if words else '.'}"
        return Death(
            expected=self._stopping and self._fault is None,
            exit_code=exit.code if self._fault is None else None,
            signal=exit.signal if self._fault is None else None,
            stderr=self._process.stderr,
            message=self._fault.message if self._fault else message,
            code=self._fault.code if self._fault else None,
        )

    # -- for each agent -----------------------------------------------------------------------------------------

    @abstractmethod
    async def _greet(self) -> None:
        """Returns when the process takes requests. Raises `AgentFailed`."""

    @abstractmethod
    async def _read(self, lines: Sequence[Line]) -> None:
        """One batch of the process's output."""

    async def _release(self) -> None:
        """Called once, after the process has ended and the sessions were notified."""
