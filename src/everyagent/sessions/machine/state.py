"""The state of a live session, as its machine keeps it in memory."""

from collections.abc import Mapping, Sequence
from copy import copy

import msgspec

from everyagent.log.log import Input, SessionRecord
from everyagent.masking.masker import NOTHING, Masker
from everyagent.model.asks import Answer
from everyagent.model.events import SessionStatus
from everyagent.model.prices import UNPRICED, Prices
from everyagent.model.sessions import Lifetime
from everyagent.sessions.launch.config import SessionConfig, config_of
from everyagent.sessions.machine.active_turn import ActiveTurn
from everyagent.sessions.machine.budgets import SessionBudget, budget_of
from everyagent.sessions.machine.parked import NONE_ANSWERED, Answered
from everyagent.sessions.machine.sequencer import Emission, Sequencer
from everyagent.sessions.machine.session_mask import SessionMask
from everyagent.sessions.machine.transaction import LogPosition, Transaction


class SessionState:
    """`record` is the session's row as it is once all decisions so far are committed.

    `mask` hides the session's secrets. `queue` are the messages that wait. `live`: an agent runs. `ending`: no turn
    begins any more. `silent_deaths`: the agent died so many times in a row before it sent anything.
    `answered` are answers to asks of an agent that ended with its daemon. `early` are answers to asks that the agent
    has not made yet, by the item of their call; replaced, never changed.
    """

    __slots__ = (
        "answered",
        "budget",
        "early",
        "ending",
        "lifetime",
        "live",
        "mask",
        "position",
        "queue",
        "record",
        "restart_wanted",
        "sequencer",
        "silent_deaths",
        "status",
        "turn",
    )

    def __init__(
        self,
        record: SessionRecord,
        queue: Sequence[Input] = (),
        prices: Prices = UNPRICED,
        masker: Masker = NOTHING,
        lifetime: Lifetime = "open",
        answered: Answered = NONE_ANSWERED,
        sequencer: Sequencer | None = None,
        budget: SessionBudget | None = None,
    ) -> None:
        self.budget = budget
        self.answered = answered
        self.early: Mapping[str, Answer] = {}
        self.lifetime: Lifetime = lifetime
        self.silent_deaths = 0
        self.mask = SessionMask(masker)
        self.record = record
        self.position = LogPosition(record, prices)
        self.sequencer = sequencer or Sequencer()
        self.status: SessionStatus = record.status
        self.queue = [*queue]
        self.turn: ActiveTurn | None = None
        self.live = False
        self.ending = False
        self.restart_wanted = False

    def configure(self, config: bytes, transaction: Transaction) -> None:
        """The session has this configuration from now on."""
        transaction.change(config=config)
        decoded = msgspec.json.decode(config, type=SessionConfig)
        self.sequencer.asks.timeout = decoded.ask_timeout
        self.budget = budget_of(decoded)

    @property
    def ended(self) -> bool:
        return self.status == "ended"

    @property
    def busy(self) -> bool:
        """A turn runs or an ask is open."""
        return self.sequencer.turn_id is not None or len(self.sequencer.asks) > 0

    @property
    def dies(self) -> bool:
        """Its agent has died since it last sent anything, and is started again for the next message."""
        return self.silent_deaths > 0 and self.record.status != "ended"

    @property
    def awaited(self) -> ActiveTurn | None:
        """The running turn, while the agent is expected to send something: it waits for nothing, and is not stopped."""
        turn = self.turn
        waits = turn is not None and (turn.own_calls or len(self.sequencer.asks))
        return turn if turn and turn.prompted and not turn.cancelled and not waits else None

    @property
    def over_budget(self) -> bool:
        return self.budget is not None and self.budget.used_up(self.position)

    @property
    def parked(self) -> bool:
        """Asks are open, and no agent runs that waits for them: no turn begins before they are closed."""
        return len(self.sequencer.asks) > 0 and self.sequencer.turn_id is None and not self.live

    @property
    def parks(self) -> bool:
        """Open asks outlive the daemon, as the session does."""
        return self.lifetime == "open"

    def held_text(self) -> list[Emission]:
        """The ends of texts that are held back, when the agent sends nothing more: they begin no secret."""
        return [emission for delta in self.mask.release() for emission in self.sequencer.apply(delta)]

    def copy(self) -> "SessionState":
        """A copy that a refused client command does not change. Open items are shared: no command touches them."""
        twin = copy(self)
        twin.position = self.position.copy()
        twin.sequencer = self.sequencer.copy()
        twin.queue = [*self.queue]
        return twin


def state_of(
    record: SessionRecord,
    queue: Sequence[Input],
    prices: Prices,
    masker: Masker,
    answered: Answered,
    sequencer: Sequencer,
) -> SessionState:
    """The state of a session that goes on."""
    config = config_of(record)
    return SessionState(record, queue, prices, masker, config.lifetime, answered, sequencer, budget_of(config))
