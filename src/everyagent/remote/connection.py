"""A runner's connection: the stream of commands to it, and the watch that ends it when the runner hangs."""

import asyncio
from collections.abc import AsyncIterator, Callable

import msgspec

from everyagent.remote import wire
from everyagent.remote.keys import RunnerKey

_encode = msgspec.json.Encoder().encode


class RunnerConnection:
    """One stream of commands to a runner. `id` is that of the connect; `pings` is the number of its last ping.

    A kernel keeps the connection of a process that hangs, so only a sign of life from the runner itself counts:
    `silent` is called when there is none for `wire.SILENCE_SECONDS`.
    """

    def __init__(
        self, key: RunnerKey, hello: wire.Hello, id: str, seen_at: int, silent: Callable[["RunnerConnection"], None]
    ) -> None:
        self.key = key
        self.hello = hello
        self.id = id
        self.seen_at = seen_at
        self.pings = 0
        self.open = True
        self._silent = silent
        self._messages: asyncio.Queue[wire.Downlink | None] = asyncio.Queue()
        self._watch = self._watched()

    def send(self, message: wire.Downlink) -> None:
        self._messages.put_nowait(message)

    def alive(self) -> None:
        """The runner has sent something."""
        if self.open:
            self._watch.cancel()
            self._watch = self._watched()

    def end(self) -> None:
        self._watch.cancel()
        if self.open:
            self.open = False
            self._messages.put_nowait(None)

    async def lines(self) -> AsyncIterator[bytes]:
        """The messages, one JSON document a line; an empty line is a heartbeat."""
        while True:
            try:
                message = await asyncio.wait_for(self._messages.get(), wire.HEARTBEAT_SECONDS)
            except TimeoutError:
                yield b"\n"
                continue
            if message is None:
                return
            yield _encode(message) + b"\n"
            if isinstance(message, wire.Replaced):
                return

    def _watched(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(wire.SILENCE_SECONDS, self._silent, self)
