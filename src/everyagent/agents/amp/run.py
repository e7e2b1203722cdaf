"""One Amp process, from its start to its end. A conversation has one after the other."""

from collections.abc import Awaitable, Callable, Sequence

import anyio
from msgspec.structs import replace

from everyagent.agents.adapter import Death, DecodedFrame
from everyagent.agents.amp import failures
from everyagent.agents.amp.decode import AmpDecoder
from everyagent.agents.line_conversation import LineConversation, LineProtocol, ProcessEnd
from everyagent.model.events import StderrOutput
from everyagent.runtime.exit import Exit
from everyagent.runtime.process import Process

#: How long a process may take to end by itself.
END_LIMIT = 5.0


class AmpProcess:
    """`received` gets its frames, `over` its death. `lines.run` needs a task."""

    def __init__(
        self,
        process: Process,
        received: Callable[[Sequence[DecodedFrame]], Awaitable[None]],
        over: Callable[["AmpProcess", Death], Awaitable[None]],
        after: Callable[[], None],
    ) -> None:
        self._receive = received
        self.decoder = AmpDecoder()
        self.lines = LineConversation(
            process, self, LineProtocol("Amp", self.decoder.decode, self._ending, self._after)
        )
        self._over = over
        self._and_then = after
        self._gone = anyio.Event()

    @property
    def listens(self) -> bool:
        return not self.decoder.finished and not self._gone.is_set()

    async def gone(self) -> None:
        """Wait for its end after its last line, and force it if it takes too long."""
        with anyio.move_on_after(END_LIMIT):
            await self._gone.wait()
        if not self._gone.is_set():
            await self.lines.process.stop(0)
            await self._gone.wait()

    async def received(self, batch: Sequence[DecodedFrame]) -> None:
        await self._receive(batch)

    async def died(self, death: Death) -> None:
        """The cause is in the last line of its stderr."""
        if death.code == "auth":
            words = self.lines.process.last_error_line
            message = failures.NO_LOGIN if self.decoder.wants_login or not words else failures.remedied(words)
            death = replace(death, message=message)
        try:
            await self._over(self, death)
        finally:
            self._gone.set()

    async def _after(self) -> None:
        if self.decoder.wants_login:
            await self.lines.process.stop(0)
        self._and_then()

    def _ending(self, exit: Exit | None) -> ProcessEnd:
        words = _text(self.lines.process.stderr)
        if self.decoder.wants_login:
            return ProcessEnd(code="auth")
        return ProcessEnd(failures.history_lost(words), failures.code_of(words)) if exit and exit.code else ProcessEnd()


def _text(stderr: StderrOutput | None) -> str:
    return f"{stderr.head or ''}\n{stderr.tail or ''}" if stderr else ""
