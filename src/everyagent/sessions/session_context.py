"""Everything that the live sessions of a daemon share."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from everyagent.agents.adapter import Launch
from everyagent.clock import Clock
from everyagent.log.log import Log, SessionRecord
from everyagent.model.prices import Prices
from everyagent.sessions.counts import Counts
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine.projection import Projections

if TYPE_CHECKING:
    from everyagent.sessions.actor import Actor


class SessionContext(NamedTuple):
    """`spawn` runs an async function beside everything else; its failures are logged.

    `lost` is called once by an actor whose memory and log may differ.
    """

    log: Log
    clock: Clock
    limits: Limits
    counts: Counts
    spawn: Callable[..., None]
    launch_for: Callable[[SessionRecord], Awaitable[Launch]]
    prices: Prices
    projections: Projections | None
    lost: "Callable[[Actor], None]"
