"""The state of a projection, written in one transaction with its events."""

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from everyagent.model.parts import Object
from everyagent.model.usage import Usage

Status: TypeAlias = Literal["idle", "running", "rescheduling", "terminated"]
#: The statuses of a thread that is not at rest.
AT_WORK: Final = ("running", "rescheduling")
ActionKind: TypeAlias = Literal["confirmation", "custom", "result", "question"]


class Action(Struct, kw_only=True, omit_defaults=True):
    """A required action of the client, under the id of the event that asks for it. `item` is the call.

    `ask_id` is empty if the agent has yet to ask: the policies say that it will.
    `parked`: an earlier version has closed its ask, so nobody waits for the answer.
    `granted`: the client has allowed the same call before.
    `unconfirmed`: the client runs the tool once it is allowed.
    `session`: runs the thread of the roster that asks.
    """

    ask_id: str
    kind: ActionKind
    name: str
    input: Object
    item: str | None = None
    thread: str | None = None
    parked: bool = False
    granted: bool = False
    unconfirmed: bool = False
    session: str | None = None


class Use(Struct, kw_only=True, omit_defaults=True):
    """A tool call without a result. `hidden`: the session shows it by other events.

    `asked`: it needs a confirmation. `answered`: it has one. `early`: it has one that the agent has yet to ask for.
    """

    event: str
    name: str
    call_id: str | None = None
    server: str | None = None
    thread: str | None = None
    hidden: bool = False
    input: Object = {}
    position: int = 0
    asked: bool = False
    answered: bool = False
    early: bool = False


class Thread(Struct, kw_only=True, omit_defaults=True):
    """A sub-agent's thread, under the item id of the call that started it. `span` and `called` are as in `State`.

    One of the roster is under a key of its own. `session` runs it, whose events are reported up to `reported`;
    `usage` and `cost_usd` are its own. `owes`: it has a message of its coordinator to reply to. `awaited`: a call of
    the running turn waits for that.
    """

    id: str
    name: str
    parent: str | None
    status: Status
    created_at: int
    updated_at: int
    archived_at: int | None = None
    span: str | None = None
    called: bool = False
    session: str | None = None
    reported: int = 0
    usage: Usage = Usage()
    cost_usd: float = 0.0
    owes: bool = False
    awaited: bool = False


class HeldError(Struct, kw_only=True, omit_defaults=True):
    """An error of which a later event shows whether the turn survived it."""

    type: str
    message: str


class Grant(Struct, kw_only=True):
    name: str
    input: Object


class SessionOutcome(Struct, kw_only=True, omit_defaults=True):
    """An outcome of the session. `evaluating` is the id of the open span, `judge` the session that judges."""

    id: str
    description: str
    item: str
    max_iterations: int
    iteration: int = 0
    result: str = "pending"
    evaluating: str | None = None
    judge: str | None = None
    explanation: str | None = None
    completed_at: int | None = None


class State(Struct, kw_only=True, omit_defaults=True):
    """The part of a projection that nearly every step changes, so that it is written with every step.

    `queued`: positions of events that wait for their turn, by item. `waiting`: the universal session's own status.
    `taken`: messages of the running turn that have their events already. `span`: the open model request; `called`: a
    tool was called since it began. `spent`, `spent_usd`: usage and cost of the running turn's requests. `stopping`:
    the client has interrupted the turn. `threads`: those at work. `outcomes`: those that ended in the current frame.
    Threads at rest and outcomes that ended earlier are in the document. `answers`: digests of the latest answers
    to required actions, by the event that asked. `confirmed`: the latest uses that the client may run. `calling`:
    calls whose input the model still writes. `unsettled`: required actions changed, and no status event shows it yet.
    `last_text`: the latest message of the running turn, in a thread of a roster. `roster_usage`, `roster_cost_usd`:
    those of all threads of the roster.
    `errors` are held back until it is known whether the turn survives them; an earlier version had one, in `held`.
    """

    status: Status = "idle"
    turn: bool = False
    waiting: bool = False
    stopping: bool = False
    span: str | None = None
    called: bool = False
    spent: Usage = Usage()
    spent_usd: float = 0.0
    actions: dict[str, Action] = {}
    uses: dict[str, Use] = {}
    queued: dict[str, list[int]] = {}
    taken: list[str] = []
    threads: dict[str, Thread] = {}
    held: HeldError | None = None
    errors: list[HeldError] = []
    grants: list[Grant] = []
    answers: dict[str, str] = {}
    confirmed: list[str] = []
    calling: list[str] = []
    unsettled: bool = False
    outcome: SessionOutcome | None = None
    outcomes: list[SessionOutcome] = []
    usage: Usage = Usage()
    cost_usd: float = 0.0
    roster_usage: Usage = Usage()
    roster_cost_usd: float = 0.0
    over_budget: bool = False
    last_text: str = ""
    active_micros: int = 0
    running_since: int = 0
    hidden: int = 0
    head: int = 0

    @property
    def total_usd(self) -> float:
        """The cost so far, with that of the running turn and of the roster."""
        return self.cost_usd + self.spent_usd + self.roster_cost_usd

    @property
    def roster_at_work(self) -> bool:
        return any(thread.session and thread.status in AT_WORK for thread in self.threads.values())
