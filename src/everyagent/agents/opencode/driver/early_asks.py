"""Holds back permission events that arrive before the calls they are about, so that a client sees the call's input."""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import anyio

from everyagent.agents.adapter import DecodedFrame
from everyagent.agents.opencode.decode.decoder import OpencodeDecoder
from everyagent.agents.opencode.protocol.native_event import NativeEvent

#: How long a call may take to follow its permission event.
HOLD_SECONDS = 10.0
_REPLIED = "permission.replied"


class EarlyAsks:
    """`spawn` starts a task; `remind` is called when held events are overdue."""

    def __init__(
        self,
        decoder: OpencodeDecoder,
        spawn: Callable[[Callable[[], Awaitable[object]]], None],
        *,
        remind: Callable[[], None],
    ) -> None:
        self._decoder = decoder
        self._spawn = spawn
        self._remind = remind
        self._held: list[NativeEvent] = []

    def decode(self, event: NativeEvent) -> Iterator[DecodedFrame]:
        """The event, unless it is held, and those that it completes."""
        if self._decoder.is_early(event):
            self._held.append(event)
            self._spawn(partial(self._wait, event))
            return
        if self._held and event.type == _REPLIED:
            yield from self.release()
        yield self._decoder.decode(event)
        for held in [each for each in self._held if not self._decoder.is_early(each)]:
            self._held.remove(held)
            yield self._decoder.decode(held)

    def release(self) -> Iterator[DecodedFrame]:
        """All held events, as they are."""
        held, self._held = self._held, []
        for event in held:
            yield self._decoder.decode(event)

    async def _wait(self, event: NativeEvent) -> None:
        await anyio.sleep(HOLD_SECONDS)
        if any(each is event for each in self._held):
            self._remind()
