"""Limits on what agents cause by the tools of `session_tools.py`. One for each daemon."""

import time
from collections import OrderedDict
from weakref import WeakValueDictionary

import anyio
from msgspec import Struct

from everyagent.access.token_bucket import PeerLimits
from everyagent.errors import RateLimited

STARTS_PER_MINUTE = 20
MESSAGES_PER_MINUTE = 60
#: So many sessions that got a message are remembered.
REMEMBERED = 4096


class StartSettings(Struct, frozen=True, kw_only=True):
    """`depth` is how deep sessions may start sessions. `per_hour` limits the starts in one workspace; 0 is no limit.

    `budget_usd` is the most that a started session may spend; 0 is no limit.
    """

    depth: int = 3
    per_hour: int = 120
    budget_usd: float = 10.0


class StartLimits:
    """Rates are by workspace, and so are locks."""

    def __init__(self, settings: StartSettings) -> None:
        self.settings = settings
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._minute = PeerLimits(STARTS_PER_MINUTE)
        self._hour = PeerLimits(settings.per_hour / 60, burst=settings.per_hour)
        self._messages = PeerLimits(MESSAGES_PER_MINUTE)
        self._driven: OrderedDict[str, None] = OrderedDict()

    def lock(self, workspace: str) -> anyio.Lock:
        """Held from the count of running sessions until one more runs."""
        return self._locks.setdefault(workspace, anyio.Lock())

    def start(self, workspace: str) -> None:
        """Raises `RateLimited`."""
        now = time.monotonic()
        seconds = self._minute.take(workspace, now)
        if self.settings.per_hour:
            seconds = seconds or self._hour.take(workspace, now)
        if seconds:
            raise RateLimited(f"Too many sessions were started. Try again in {seconds:.0f} seconds.")

    def message(self, workspace: str) -> None:
        """Raises `RateLimited`."""
        if seconds := self._messages.take(workspace, time.monotonic()):
            raise RateLimited(f"Too many messages were sent. Try again in {seconds:.0f} seconds.")

    def sent(self, session_id: str) -> None:
        """The session got a message: it counts as one that runs because of the tools from now on."""
        self._driven[session_id] = None
        self._driven.move_to_end(session_id)
        if len(self._driven) > REMEMBERED:
            self._driven.popitem(last=False)

    def drives(self, session_id: str) -> bool:
        return session_id in self._driven
