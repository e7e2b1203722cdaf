"""Wake-ups for readers that wait at the head: one signal a session, one more for the feed."""

import asyncio
from weakref import WeakValueDictionary

#: The signal of the feed of all sessions; sessions are numbered from 1.
ALL_SESSIONS = 0


class Signal:
    """Fires once, at the next commit. Until then it sends heartbeats, which keep an idle stream alive."""

    def __init__(self, loop: asyncio.AbstractEventLoop, heartbeat: float) -> None:
        self.fired = False
        self._loop = loop
        self._heartbeat = heartbeat
        self._waiting: list[asyncio.Future[None]] = []
        self._beat: asyncio.TimerHandle | None = None

    async def wait(self) -> bool:
        """True when it fired, False at a heartbeat."""
        if not self.fired:
            if self._beat is None:
                self._beat = self._loop.call_later(self._heartbeat, self._wake)
            waiter = self._loop.create_future()
            self._waiting.append(waiter)
            await waiter
        return self.fired

    def fire(self) -> None:
        self.fired = True
        if self._beat is not None:
            self._beat.cancel()
        self._wake()

    def _wake(self) -> None:
        self._beat = None
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)


class Signals:
    """Signals by session. A signal exists while a reader holds it, so a session without readers costs nothing."""

    def __init__(self, loop: asyncio.AbstractEventLoop, heartbeat: float) -> None:
        self.closed = False
        self._loop = loop
        self._heartbeat = heartbeat
        self._next: WeakValueDictionary[int, Signal] = WeakValueDictionary()

    def next(self, session: int) -> Signal:
        """The signal that fires at the session's next commit."""
        signal = self._next.get(session)
        if signal is None:
            signal = self._next[session] = Signal(self._loop, self._heartbeat)
        return signal

    def waited_for(self, session: int) -> bool:
        return session in self._next

    def sessions(self) -> list[int]:
        """The sessions with a reader that waits."""
        return list(self._next)

    def fire(self, session: int) -> None:
        signal = self._next.pop(session, None)
        if signal is not None:
            signal.fire()

    def close(self) -> None:
        self.closed = True
        for session in list(self._next):
            self.fire(session)
