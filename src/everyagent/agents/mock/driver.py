"""The conversation with one mock process: commands go in, lines come out, death is told once."""

from contextlib import aclosing

import anyio

from everyagent.agents.adapter import Change, Death, Frame, Heard, Launch, Listener, Prompt
from everyagent.agents.mock import encode
from everyagent.agents.mock.decode import decode
from everyagent.errors import AgentFailed
from everyagent.model.asks import Answer
from everyagent.runtime.process import Process

#: The program's exit code when it has no memory of the session it should resume.
UNKNOWN_SESSION = 4
#: How long the daemon, while it goes down itself, lets the listener take in a death.
FAREWELL_LIMIT = 10.0


class MockConversation:
    """`run` is its own task: the only one that calls the listener."""

    def __init__(self, process: Process, listener: Listener) -> None:
        self._process = process
        self._listener = listener
        self._told: list[Heard] = []  # what we said and the listener has not heard of yet
        self._closing = False
        self._over = anyio.Event()

    async def begin(self, launch: Launch) -> None:
        """The first frame. If it cannot be said the process is ended, and nobody is told of its death."""
        try:
            await self._tell(encode.start(launch))
        except BaseException:
            await self._process.stop(0)
            raise

    async def run(self) -> None:
        cancelled = False
        try:
            await self._listen()
        except anyio.get_cancelled_exc_class():
            cancelled = self._closing = True
            raise
        finally:
            death = await self._end()
            try:
                with anyio.move_on_after(FAREWELL_LIMIT if cancelled else None, shield=cancelled):
                    await self._listener.died(death)
            finally:
                self._over.set()

    async def prompt(self, prompt: Prompt) -> None:
        await self._tell(encode.prompt(prompt))

    async def steer(self, prompt: Prompt) -> None:
        await self._tell(encode.steer(prompt))

    async def answer(self, ask_key: str, answer: Answer) -> None:
        await self._tell(encode.answer(ask_key, answer))

    async def interrupt(self) -> None:
        await self._tell(encode.interrupt())

    async def change(self, change: Change) -> bool:
        await self._tell(encode.change(change))
        return True

    async def close(self, *, force: bool = False) -> None:
        self._closing = True
        await (self._process.stop(0) if force else self._process.stop())
        await self._over.wait()

    async def _end(self) -> Death:
        """The process may have ended by itself; what it started goes with it in any case."""
        try:
            exit = await self._process.stop(0)
        except AgentFailed as failure:
            return Death(expected=self._closing, stderr=self._process.stderr, message=failure.detail)
        words = self._process.last_words
        return Death(
            expected=self._closing,
            history_lost=exit.code == UNKNOWN_SESSION,
            exit_code=exit.code,
            signal=exit.signal,
            stderr=self._process.stderr,
            message=f"The mock agent ended with {exit}{f': {words}' if words else '.'}",
        )

    async def _listen(self) -> None:
        async with aclosing(self._process.lines()) as batches:
            async for lines in batches:
                told, self._told = self._told, []
                heard = told + [decode(line) for line in lines if line.body]
                if heard:
                    await self._listener.heard(heard)
        if self._told:
            await self._listener.heard(self._told)

    async def _tell(self, frame: bytes) -> None:
        await self._process.write(frame)
        self._told.append(Heard(Frame("to_agent", frame[:-1]), ()))
        self._process.nudge()
