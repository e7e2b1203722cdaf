"""One process of Amp's: from its start to its last word. The conversation has one after the other."""

from collections.abc import Awaitable, Callable, Sequence

import anyio
from msgspec.structs import replace

from everyagent.agents.adapter import Death, Heard
from everyagent.agents.amp import failures
from everyagent.agents.amp.decode import Decoder
from everyagent.agents.line_conversation import Ending, Lines, Speech
from everyagent.model.events import StderrOutput
from everyagent.runtime.exit import Exit
from everyagent.runtime.process import Process

#: How long a process that has said its last word, may take to end by itself.
END_LIMIT = 5.0


class Run:
    """`heard` hears what it says, `over` how it ended. `lines.run` is its own task."""

    def __init__(
        self,
        process: Process,
        heard: Callable[[Sequence[Heard]], Awaitable[None]],
        over: Callable[["Run", Death], Awaitable[None]],
        after: Callable[[], None],
    ) -> None:
        self._hears = heard
        self.decoder = Decoder()
        self.lines = Lines(process, self, Speech("Amp", self.decoder.decode, self._ending, self._after))
        self._over = over
        self._and_then = after
        self._gone = anyio.Event()

    @property
    def listens(self) -> bool:
        return not self.decoder.finished and not self._gone.is_set()

    async def gone(self) -> None:
        """It has said its last word: see it end."""
        with anyio.move_on_after(END_LIMIT):
            await self._gone.wait()
        if not self._gone.is_set():
            await self.lines.process.stop(0)
            await self._gone.wait()

    async def heard(self, batch: Sequence[Heard]) -> None:
        await self._hears(batch)

    async def died(self, death: Death) -> None:
        """What its end means is in its last words."""
        if death.code == "auth":
            words = self.lines.process.last_error_line
            told = failures.NO_LOGIN if self.decoder.wants_login or not words else failures.remedied(words)
            death = replace(death, message=told)
        try:
            await self._over(self, death)
        finally:
            self._gone.set()

    async def _after(self) -> None:
        if self.decoder.wants_login:
            await self.lines.process.stop(0)
        self._and_then()

    def _ending(self, exit: Exit | None) -> Ending:
        words = _text(self.lines.process.stderr)
        if self.decoder.wants_login:
            return Ending(code="auth")
        return Ending(failures.history_lost(words), failures.code_of(words)) if exit and exit.code else Ending()


def _text(stderr: StderrOutput | None) -> str:
    return f"{stderr.head or ''}\n{stderr.tail or ''}" if stderr else ""
