"""Limits on sessions that agents start by the tools of `session_tools.py`. One for each daemon."""

import anyio

from everyagent.access.token_bucket import PeerLimits

STARTS_PER_MINUTE = 20


class StartLimits:
    """`rate` is by workspace. `lock` is held from the count of running sessions until one more runs."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.rate = PeerLimits(STARTS_PER_MINUTE)
