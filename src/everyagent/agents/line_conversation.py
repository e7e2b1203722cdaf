"""A conversation in lines with one process of its own: what we say, what it says, how it dies. Drivers stand on it."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple

import anyio

from everyagent.agents.adapter import Death, Frame, Heard, Listener
from everyagent.agents.supervision import death_by
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.events import ErrorCode
from everyagent.runtime.exit import Exit
from everyagent.runtime.framing import Line
from everyagent.runtime.process import Process

logger = get_logger(__name__)

#: How long the daemon, while it goes down itself, lets the listener take in a death.
FAREWELL_LIMIT = 10.0
#: How long an agent that no longer reads its input may take to end.
DEATH_LIMIT = 5.0


class Ending(NamedTuple):
    """What an agent's end means: whether its native session is gone, and what went wrong, where that is known."""

    history_lost: bool = False
    code: ErrorCode | None = None


class Speech(NamedTuple):
    """What is the agent's own about it. `title` is how its end is told of.

    `decode` makes sense of a line; `after` is called when a batch was heard, `ended` at its end.
    """

    title: str
    decode: Callable[[Line], Heard]
    ended: Callable[[Exit | None], Ending]
    after: Callable[[], Awaitable[None]] | None = None


class Lines:
    """`run` is its own task: the only one that calls the listener."""

    def __init__(self, process: Process, listener: Listener, speech: Speech) -> None:
        self.process = process
        self._listener = listener
        self._speech = speech
        self._told: list[Heard] = []  # what was said elsewhere and the listener has not heard of yet
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

    async def tell(self, frame: bytes) -> None:
        """A line with its end. Raises `AgentFailed`."""
        await self.process.write(frame)
        self.note(Heard(Frame("to_agent", frame[:-1]), ()))

    async def tell_or_die(self, frame: bytes) -> None:
        """For a frame that begins something: if the agent ends instead, the report of its death is enough.

        Raises `AgentFailed` if the agent lives on, or its death was reported before.
        """
        over = self._over.is_set()
        try:
            await self.tell(frame)
        except AgentFailed:
            with anyio.move_on_after(DEATH_LIMIT):
                await self.process.wait()
            if over or self.process.exit is None:
                raise

    def note(self, heard: Heard) -> None:
        """Something that was not said in its lines; the listener hears of it before the next of them."""
        self._told.append(heard)
        self.process.nudge()

    async def close(self, *, force: bool) -> None:
        """The whole tree is gone, and the listener knows, when this returns."""
        self._closing = True
        await (self.process.stop(0) if force else self.process.stop())
        await self._over.wait()

    async def fail(self, fault: Exception) -> None:
        """End the agent because of an exception outside of `run`, which then reports the death."""
        self.fault = self.fault or fault
        await self.process.stop(0)

    async def _listen(self) -> None:
        decode, after = self._speech.decode, self._speech.after
        async with aclosing(self.process.lines()) as batches:
            async for lines in batches:
                await self._hear([decode(line) for line in lines if line.body])
                if after:
                    await after()
        await self._hear([])

    async def _hear(self, said: Sequence[Heard]) -> None:
        told, self._told = self._told, []
        if told or said:
            await self._listener.heard([*told, *said])

    async def _end(self) -> Death:
        try:
            death = await self._ended()
        except Exception as fault:
            logger.exception("the end of an agent could not be examined", agent=self._speech.title)
            self.fault = self.fault or fault
            death = Death(expected=self._closing)
        return death_by(self.fault, self._speech.title, death) if self.fault else death

    async def _ended(self) -> Death:
        """The process may have ended by itself; what it started goes with it in any case."""
        try:
            exit = await self.process.stop(0)
        except AgentFailed as failure:
            exit, message = None, failure.detail
        else:
            words = self.process.last_error_line
            message = f"{self._speech.title} ended with {exit}{f': {words}' if words else '.'}"
        ending = self._speech.ended(exit)
        return Death(
            expected=self._closing,
            history_lost=ending.history_lost,
            code=ending.code,
            exit_code=exit.code if exit else None,
            signal=exit.signal if exit else None,
            stderr=self.process.stderr,
            message=message,
        )
