"""How a conversation on a process that sessions share comes to its end: once, whoever ends it. Used by drivers."""

import asyncio
from collections.abc import Awaitable, Callable

import anyio
from msgspec.structs import replace

from everyagent.agents.adapter import Death, Listener

#: How long a conversation that is cancelled may take to let go of everything.
FAREWELL_LIMIT = 10.0


class Ending:
    """`death` is set when it comes to its end, and `shut` called: nothing is put any more. `closing`: we end it.

    `unheard`: whoever tried to open it is told so by other means than its death.
    """

    def __init__(self, listener: Listener, shut: Callable[[], None]) -> None:
        self.death: Death | None = None
        self.closing = False
        self.unheard = False
        self._listener = listener
        self._shut = shut
        self._batch = asyncio.Event()
        self._over = anyio.Event()

    def lose(self, death: Death) -> None:
        """The first one counts."""
        if self.death is None:
            self.death = replace(death, expected=death.expected or self.closing)
            self._shut()

    async def over(self) -> None:
        """Returns when its death was told."""
        await self._over.wait()

    def heard(self) -> None:
        """One more batch was: whoever waits in `until` looks again."""
        self._batch.set()

    async def until(self, met: Callable[[], bool]) -> None:
        """Looks again after each batch that was heard; returns also when there will be none."""
        while not met() and self.death is None:
            self._batch.clear()
            await self._batch.wait()

    async def follow(self, listen: Callable[[], Awaitable[None]], leave: Callable[[], Awaitable[None]]) -> None:
        """To its end, however `listen` ends: then `leave` is called, and then its death is told."""
        cancelled = False
        try:
            await listen()
        except anyio.get_cancelled_exc_class():
            cancelled = self.closing = True
            raise
        finally:
            self.lose(Death(expected=True))
            self._batch.set()
            try:
                with anyio.move_on_after(FAREWELL_LIMIT if cancelled else None, shield=cancelled):
                    await leave()
                    if self.death and not self.unheard:
                        await self._listener.died(self.death)
            finally:
                self._over.set()
