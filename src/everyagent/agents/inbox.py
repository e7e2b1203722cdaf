"""Bounded queue of the messages of one session on a shared server. The server fills it, the conversation empties it."""

import asyncio
from typing import Generic, Protocol, TypeVar

from everyagent.agents.adapter import DecodedFrame

#: The shared process is not read while more bytes than this wait for one session.
INBOX_BYTES = 8 * 1024 * 1024


class InboxMessage(Protocol):
    """A native message."""

    @property
    def body(self) -> bytes: ...


S = TypeVar("S", bound=InboxMessage)


class Inbox(Generic[S]):
    """Messages of the agent, and frames that are decoded already, such as those we sent, in their common order."""

    def __init__(self) -> None:
        self._waiting: list[S | DecodedFrame] = []
        self._bytes = 0
        self._changed = asyncio.Event()
        self._roomy = asyncio.Event()
        self._closed = False

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, message: S | DecodedFrame) -> None:
        self._waiting.append(message)
        if not isinstance(message, DecodedFrame):
            self._bytes += len(message.body)
        self._changed.set()

    async def take(self) -> list[S | DecodedFrame]:
        """All messages that wait; returns empty when the inbox is closed."""
        await self._changed.wait()
        self._changed.clear()
        taken, self._waiting, self._bytes = self._waiting, [], 0
        self._roomy.set()
        return taken

    async def room(self) -> None:
        while self._bytes > INBOX_BYTES and not self._closed:
            self._roomy.clear()
            await self._roomy.wait()

    def close(self) -> None:
        """Messages that wait can still be taken."""
        self._closed = True
        self._changed.set()
        self._roomy.set()
