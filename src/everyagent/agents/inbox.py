"""What waits for one session to hear it, within bounds. Filled by a process that sessions share, emptied by drivers."""

import asyncio
from typing import Generic, Protocol, TypeVar

from everyagent.agents.adapter import Heard

#: So many bytes of one session may wait before the shared process is read no further.
INBOX_BYTES = 8 * 1024 * 1024


class Spoken(Protocol):
    """Something an agent said."""

    @property
    def body(self) -> bytes: ...


S = TypeVar("S", bound=Spoken)


class Inbox(Generic[S]):
    """`Heard` is what we said ourselves: it takes its place among what the agent says."""

    def __init__(self) -> None:
        self._waiting: list[S | Heard] = []
        self._bytes = 0
        self._news = asyncio.Event()
        self._roomy = asyncio.Event()
        self._closed = False

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, said: S | Heard) -> None:
        self._waiting.append(said)
        if not isinstance(said, Heard):
            self._bytes += len(said.body)
        self._news.set()

    def nudge(self) -> None:
        """Make `take` return soon, with nothing if nothing came."""
        self._news.set()

    async def take(self) -> list[S | Heard]:
        """All that waits, when something does or nothing will any more."""
        await self._news.wait()
        self._news.clear()
        taken, self._waiting, self._bytes = self._waiting, [], 0
        self._roomy.set()
        return taken

    async def room(self) -> None:
        while self._bytes > INBOX_BYTES and not self._closed:
            self._roomy.clear()
            await self._roomy.wait()

    def close(self) -> None:
        """What is in it can still be taken."""
        self._closed = True
        self._news.set()
        self._roomy.set()
