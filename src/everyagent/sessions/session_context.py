"""Everything that the live sessions of a daemon share."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

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
    """`spawn` runs an async function as a background task; its failures are logged.

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

    async def launch(self, session_id: str, native_session_id: str | None, projected: bool) -> Launch:
        """The launch of a session's agent, as the session is now."""
        record = replace(await self.log.session(session_id), native_session_id=native_session_id)
        launch = await self.launch_for(record)
        if projected and self.projections:
            launch = await self.projections.launch(record, launch)
        return launch
