"""Conversations in lines of text with one process per session. Used by the drivers of Claude Code, Amp and the mock."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import NamedTuple

import anyio

from everyagent.agents.adapter import Death, DecodedFrame, Frame, Listener
from everyagent.agents.supervision import death_by
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.events import ErrorCode
from everyagent.runtime.exit import Exit
from everyagent.runtime.framing import Line
from everyagent.runtime.process import Process

logger = get_logger(__name__)

#: How long the listener may take to record a death while the daemon itself stops.
FAREWELL_LIMIT = 10.0
#: How long an agent that no longer reads its input may take to end.
DEATH_LIMIT = 5.0


@asynccontextmanager
async def ended_on_failure(process: Process) -> AsyncGenerator[None]:
    """End the process if the body, which opens a conversation with it, raises."""
    try:
        yield
    except BaseException:
        with anyio.CancelScope(shield=True):
            await process.stop(0)
        raise


class ProcessEnd(NamedTuple):
    """The meaning of a process's end: whether the native session is lost, the error code and message, if known."""

    history_lost: bool = False
    code: ErrorCode | None = None
    message: str | None = None


class LineProtocol(NamedTuple):
    """The part that differs between agents. `title` names the agent in messages.

    `decode` decodes a line, `after` runs after each batch that the listener took, `ended` interprets the process's end.
    """

    title: str
    decode: Callable[[Line], DecodedFrame]
    ended: Callable[[Exit | None], ProcessEnd]
    after: Callable[[], Awaitable[None]] | None = None


class LineConversation:
    """Reads the process's lines, writes to it, and reports its death. Only the task `run` calls the listener."""

    def __init__(self, process: Process, listener: Listener, protocol: LineProtocol) -> None:
        self.process = process
        self._listener = listener
        self._protocol = protocol
        self._noted: list[DecodedFrame] = []  # frames for the listener that were not read from the process
        self._closing = False
        self.fault: Exception | None = None
        self._over = anyio.Event()

    async def run(self) -> None:
        """Raises what a callback or the listener raised, after the agent is gone and its death was reported."""
        cancelled = False
        try:
            await self._listen()
        except anyio.get_cancelled_exc_class():
            cancelled = self._closing = True
            raise
        except Exception as fault:
            self.fault = self.fault or fault
            raise
        finally:
            death = await self._end()
            try:
                with anyio.move_on_after(FAREWELL_LIMIT if cancelled else None, shield=cancelled):
                    await self._listener.died(death)
            finally:
                self._over.set()

    async def send(self, frame: bytes) -> None:
        """Write a line, which must end with a line feed. Raises `AgentFailed`."""
        await self.process.write(frame)
        self.note(DecodedFrame(Frame("to_agent", frame[:-1]), ()))

    async def send_or_die(self, frame: bytes) -> None:
        """Like `send`, for a frame that starts work: if the agent ends instead, only its death is reported.

        Raises `AgentFailed` if the agent lives on, or its death was reported before.
        """
        over = self._over.is_set()
        try:
            await self.send(frame)
        except AgentFailed:
            with anyio.move_on_after(DEATH_LIMIT):
                await self.process.wait()
            if over or self.process.exit is None:
                raise

    def note(self, decoded: DecodedFrame) -> None:
        """Hand a frame that was not read from the process to the listener, before the process's next line."""
        self._noted.append(decoded)
        self.process.nudge()

    async def close(self, *, force: bool) -> None:
        """End the process tree; returns when the listener has taken the report of the death."""
        self._closing = True
        await (self.process.stop(0) if force else self.process.stop())
        await self._over.wait()

    async def end(self) -> None:
        """End the process tree as a failure of the agent; returns when the listener has taken the report of it."""
        await self.process.stop(0)
        await self._over.wait()

    async def fail(self, fault: Exception) -> None:
        """End the agent because of an exception outside of `run`, which then reports the death."""
        self.fault = self.fault or fault
        await self.process.stop(0)

    async def _listen(self) -> None:
        decode, after = self._protocol.decode, self._protocol.after
        async with aclosing(self.process.lines()) as batches:
            async for lines in batches:
                if self.fault:
                    return  # frames that an agent sends while it is ended do not end the turn
                await self._report([decode(line) for line in lines if line.body])
                if after:
                    await after()
        await self._report([])

    async def _report(self, decoded: Sequence[DecodedFrame]) -> None:
        noted, self._noted = self._noted, []
        if noted or decoded:
            await self._listener.received([*noted, *decoded])

    async def _end(self) -> Death:
        try:
            death = await self._ended()
        except Exception as fault:
            logger.exception("the end of an agent could not be examined", agent=self._protocol.title)
            self.fault = self.fault or fault
            death = Death(expected=self._closing)
        return death_by(self.fault, self._protocol.title, death) if self.fault else death

    async def _ended(self) -> Death:
        """End what is left of the process tree: the process itself may have ended before."""
        try:
            exit = await self.process.stop(0)
        except AgentFailed as failure:
            exit, message = None, failure.detail
        else:
            words = self.process.last_error_line
            message = f"{self._protocol.title} ended with {exit}{f': {words}' if words else '.'}"
        if hit := self.process.limit_hit:
            ending = ProcessEnd(code="limit_exceeded", message=hit.message)
        else:
            ending = self._protocol.ended(exit)
        return Death(
            expected=self._closing,
            history_lost=ending.history_lost,
            code=ending.code,
            exit_code=exit.code if exit else None,
            signal=exit.signal if exit else None,
            stderr=self.process.stderr,
            message=ending.message or message,
        )
