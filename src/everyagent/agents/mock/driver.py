"""The conversation with one mock process."""

from everyagent.agents.adapter import Change, Launch, Listener, Prompt
from everyagent.agents.lines import Ending, Lines, Speech
from everyagent.agents.mock import encode
from everyagent.agents.mock.decode import decode
from everyagent.model.asks import Answer
from everyagent.runtime.exit import Exit
from everyagent.runtime.process import Process

#: The program's exit code when it has no memory of the session it should resume.
UNKNOWN_SESSION = 4


class MockConversation:
    """`run` is its own task."""

    def __init__(self, process: Process, listener: Listener) -> None:
        self._lines = Lines(process, listener, Speech("The mock agent", decode, _ended))
        self.run = self._lines.run

    async def begin(self, launch: Launch) -> None:
        """The first frame. If it cannot be said the process is ended, and nobody is told of its death."""
        try:
            await self._lines.tell(encode.start(launch))
        except BaseException:
            await self._lines.process.stop(0)
            raise

    async def prompt(self, prompt: Prompt) -> None:
        await self._lines.tell(encode.prompt(prompt))

    async def steer(self, prompt: Prompt) -> None:
        await self._lines.tell(encode.steer(prompt))

    async def answer(self, ask_key: str, answer: Answer) -> None:
        await self._lines.tell(encode.answer(ask_key, answer))

    async def interrupt(self) -> None:
        await self._lines.tell(encode.interrupt())

    async def change(self, change: Change) -> bool:
        await self._lines.tell(encode.change(change))
        return True

    async def close(self, *, force: bool = False) -> None:
        await self._lines.close(force=force)


def _ended(exit: Exit | None) -> Ending:
    return Ending(history_lost=exit is not None and exit.code == UNKNOWN_SESSION)
