"""What waits for one session to hear it, within bounds. Filled by `server.py`, emptied by `driver.py`."""

import asyncio

from everyagent.agents.adapter import Heard
from everyagent.agents.codex.rpc import Said
from everyagent.agents.codex.rulings import Knock

#: So many bytes of one session may wait before the app-server is read no further.
INBOX_BYTES = 8 * 1024 * 1024


class Inbox:
    """`Heard` is what we said ourselves: it takes its place among what Codex says."""

    def __init__(self) -> None:
        self._waiting: list[Said | Heard | Knock] = []
        self._bytes = 0
        self._news = asyncio.Event()
        self._roomy = asyncio.Event()
        self._closed = False

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, said: Said | Heard | Knock) -> None:
        self._waiting.append(said)
        if isinstance(said, Said):
            self._bytes += len(said.body)
        self._news.set()

    async def take(self) -> list[Said | Heard | Knock]:
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
