"""What every live session stands in."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from everyagent.agents.adapter import Launch
from everyagent.clock import Clock
from everyagent.log.log import Log, SessionRecord
from everyagent.model.prices import Prices
from everyagent.sessions.counts import Counts
from everyagent.sessions.limits import Limits


class SessionContext(NamedTuple):
    """`spawn` runs an async function beside everything else; what goes wrong in it is logged."""

    log: Log
    clock: Clock
    policy: Limits
    counts: Counts
    spawn: Callable[..., None]
    launch_for: Callable[[SessionRecord], Awaitable[Launch]]
    prices: Prices
