"""Everything that the live sessions of a daemon share."""

from asyncio import Future
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from everyagent.agents.adapter import Launch
from everyagent.clock import Clock
from everyagent.log.log import Append, Input, Log, SessionRecord
from everyagent.logs import get_logger
from everyagent.masking.masker import NOTHING, Masker
from everyagent.model.prices import Prices
from everyagent.sessions.backlog import TotalBacklog
from everyagent.sessions.checkpoints import Checkpoints
from everyagent.sessions.counts import Counts
from everyagent.sessions.launch.config import config_of, node_with
from everyagent.sessions.launch.known_secrets import launch_secrets
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.machine import Machine
from everyagent.sessions.machine.projection import Projections
from everyagent.sessions.machine.session_mask import SessionMask
from everyagent.sessions.refusals import directory_elsewhere

if TYPE_CHECKING:
    from everyagent.sessions.actor import Actor

logger = get_logger(__name__)


class SessionContext(NamedTuple):
    """`spawn` runs an async function as a background task; its failures are logged.

    `admit` is awaited before an actor starts an agent; it raises `TooManyAgents`. `lost` is called once by an actor
    whose memory and log may differ. `seal_input` encrypts a waiting message that has a secret of its session in it.
    `node` is the name of this node of a cluster.
    """

    log: Log
    clock: Clock
    limits: Limits
    backlog: TotalBacklog
    counts: Counts
    spawn: Callable[..., None]
    launch_for: Callable[[SessionRecord], Awaitable[Launch]]
    prices: Prices
    projections: Projections | None
    lost: "Callable[[Actor], None]"
    admit: "Callable[[Actor], Awaitable[None]]"
    masker_of: Callable[[SessionRecord], Masker] = lambda _: NOTHING
    seal_input: Callable[[Masker, Input, str], Input] = lambda _masker, input, _session: input
    checkpoints: Checkpoints | None = None
    node: str | None = None

    async def turn_begins(self, actor: "Actor") -> None:
        """Before an agent is given its turn."""
        if actor.machine.projection and self.projections:
            await self.projections.turn_begins(actor.machine.projection, actor.record.session_id)
        if self.checkpoints:
            await self.checkpoints.before_turn(actor)

    async def turn_over(self, actor: "Actor") -> None:
        """Before the next turn begins."""
        session_id = actor.record.session_id
        try:
            if self.checkpoints:
                await self.checkpoints.after_turn(actor)
            if actor.projected and self.projections:
                await self.projections.turn_over(session_id)
        except Exception:
            logger.exception("work after a turn failed; the session goes on", session=session_id)

    async def launch(self, machine: Machine) -> Launch:
        """The launch of a session's agent, as the session is now. Its secrets are masked from now on."""
        # The agent's own name for its session may not be committed yet.
        native_session_id = machine.state.position.native_session_id
        record = await self.log.session(machine.state.record.session_id)
        record = replace(record, native_session_id=native_session_id)
        launch = await self.launch_for(record)
        if machine.projection and self.projections:
            launch = await self.projections.launch(record, launch)
        if other := node_with(launch.directory, config_of(record), self.node):
            raise directory_elsewhere(launch.directory, other)
        turn = machine.state.turn
        if turn and turn.prompt and turn.prompt.system:
            launch = replace(launch, system_message=turn.prompt.system)
        machine.state.mask.learn(launch_secrets(launch))
        return launch

    def append(self, append: Append, decision: Decision, mask: SessionMask) -> "Future[None]":
        """Commit a decision of a session."""
        if append.inputs:
            session_id = decision.transaction.session_id
            sealed = [self.seal_input(mask.masker, input, session_id) for input in append.inputs]
            append = replace(append, inputs=sealed)
        return self.log.append(append, patient=decision.patient)
