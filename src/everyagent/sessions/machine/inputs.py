"""Everything that can happen to a session: the inputs of its machine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, UnsetType, field

from everyagent.agents.adapter import Change, Death, DecodedFrame
from everyagent.log.log import FrameDirection, Receipt
from everyagent.model.asks import Answer
from everyagent.model.events import Error, ItemCompleted, PermissionRequested, SessionUpdated, ToolRequested
from everyagent.model.principals import EventActor, current_actor
from everyagent.model.runners import Mark
from everyagent.model.sessions import SendMessage
from everyagent.sessions.machine.active_turn import ActiveTurn
from everyagent.sessions.machine.messages import InputMessage, Submission


class Batch(Struct, frozen=True, kw_only=True):
    """One command of a client, or of the daemon for one: all of it is one transaction, or none of it happens.

    `frame` is the request as it is recorded; without `recorded` only if events are made from it.
    `interrupt` is the reason to stop the running turn; with `interrupt_next` also one that is about to begin.
    `stop_reason` is that of the stopped turn.
    `notice` is an event of the daemon; an `Error` is also the reason why an interrupted turn fails.
    `subagents` are the calls whose sub-agents are stopped alone.
    `early` are answers to asks that the agent has yet to make, by the item of their call.
    `withdrawn` is the item of a message that waits, and will not be sent; True stands for all of them.
    `updated` is emitted; `config` is the row's new one; `change` is applied to the live agent, if it can be;
    `restart`: the agent must be started again to know of it.
    `forgets`: the agent begins with a new session of its own, and is given the conversation.
    `late`: the batch is taken even after the session's end.
    `receipt` is called when all events are emitted; what it returns is stored with them.
    `actor` is the client for whom the batch was made.
    """

    frame: bytes
    direction: FrameDirection = "from_client"
    recorded: bool = True
    interrupt: str | None = None
    interrupt_next: bool = False
    stop_reason: Literal["interrupted", "budget"] = "interrupted"
    notice: Error | ItemCompleted | None = None
    subagents: Sequence[str] = ()
    answers: Sequence[tuple[str, Answer]] = ()
    early: Mapping[str, Answer] = {}
    submission: Submission | None = None
    withdrawn: str | Literal[True] | None = None
    updated: SessionUpdated | None = None
    config: bytes | None = None
    change: Change | None = None
    restart: bool = False
    forgets: bool = False
    late: bool = False
    receipt: Callable[[], Receipt | None] | None = None
    actor: EventActor | UnsetType = field(default_factory=current_actor)


def cancel_batch(*, withdraw: bool = False) -> Batch:
    """A client's request to cancel the running turn, and with `withdraw` to send none of the messages that wait."""
    why = "The turn was cancelled."
    frame = b'{"request":"cancel","queued":"withdraw"}' if withdraw else b'{"request":"cancel"}'
    return Batch(
        frame=frame, recorded=withdraw, interrupt=why, interrupt_next=True, withdrawn=True if withdraw else None
    )


def budget_batch(name: str) -> Batch:
    """Stops a turn whose API key has used up its budget."""
    why = f"The budget of the API key {name!r} is used up."
    return Batch(
        frame=b'{"cause":"key_budget"}', direction="daemon", recorded=False, interrupt=why, stop_reason="budget"
    )


def message_batch(item_id: str, message: SendMessage, receipt: Receipt | None) -> Batch:
    """A client's message. It is recorded as a frame when its turn begins, not when it has to wait."""
    return Batch(
        frame=msgspec.json.encode(message),
        recorded=False,
        submission=Submission(entries=[InputMessage(item_id=item_id, message=message)]),
        receipt=lambda: receipt,
    )


def withdrawal_batch(item_id: str) -> Batch:
    """Takes a client's message out of the queue."""
    return Batch(frame=msgspec.json.encode({"request": "withdraw", "itemId": item_id}), withdrawn=item_id)


def answer_batch(ask_id: str, answer: Answer) -> Batch:
    return Batch(frame=msgspec.json.encode(answer), answers=[(ask_id, answer)])


class FramesReceived(Struct, frozen=True):
    """The agent sent frames. Those of a runner have a `mark`, which is stored with them."""

    frames: Sequence[DecodedFrame]
    mark: Mark | None = None


class AgentReady(Struct, frozen=True):
    """The agent runs and can be given this turn's prompt. `mark` is the beginning of a runner's conversation."""

    turn: ActiveTurn
    mark: Mark | None = None


class AgentDied(Struct, frozen=True):
    death: Death


class PromptFailed(Struct, frozen=True):
    """The agent did not start, or did not take the prompt."""

    turn: ActiveTurn
    error: Exception


class CommandFailed(Struct, frozen=True):
    """The agent did not take a command that is committed already."""

    error: Exception


class RestartNeeded(Struct, frozen=True):
    """The agent cannot apply a change while it runs."""


class ClientNeeded(Struct, frozen=True):
    """The daemon itself asks the client: for permission, or to carry out a custom tool."""

    request: PermissionRequested | ToolRequested


class NextTurn(Struct, frozen=True):
    """Begin the next waiting turn, if none runs."""


class Hibernate(Struct, frozen=True):
    """Let the idle agent go; with `restart` though messages wait."""

    restart: bool = False


class NoMoreTurns(Struct, frozen=True):
    """The session is about to be terminated, or the daemon to stop."""


class Terminate(Struct, frozen=True):
    """The agent is gone; end the session. `if_unused`: unless the agent runs or anything waits."""

    if_unused: bool = False
    actor: EventActor | UnsetType = field(default_factory=current_actor)


class ShutDown(Struct, frozen=True):
    """The agent is gone, because the daemon stops; the session goes on with the next daemon."""


class Recover(Struct, frozen=True):
    """The session was loaded with an open turn or a live agent, which nobody runs any more.

    `failure` is why the daemon lost the session; None: it was restarted.
    """

    failure: str | None = None


SessionInput: TypeAlias = (
    Batch
    | FramesReceived
    | AgentReady
    | AgentDied
    | PromptFailed
    | CommandFailed
    | RestartNeeded
    | ClientNeeded
    | NextTurn
    | Hibernate
    | NoMoreTurns
    | Terminate
    | ShutDown
    | Recover
)
