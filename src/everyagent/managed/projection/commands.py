"""Commands to a projection that are stored in frames: the request behind a frame, as the daemon understood it.

Frames are stored, so a projection that is rebuilt from them is the same.
"""

from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType

from everyagent.managed.projection.events import (
    CustomToolUse,
    McpToolUse,
    ModelRequestUsage,
    SessionFailure,
    Stop,
    ToolUse,
)
from everyagent.managed.projection.state import Action, Status
from everyagent.managed.sessions.blocks import MessageBlock
from everyagent.managed.sessions.client_events import (
    ClientEvent,
    UserCustomToolResult,
    UserToolConfirmation,
    UserToolResult,
)
from everyagent.model.parts import Json
from everyagent.model.usage import Usage


class SentEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`item` is the message it belongs to, `answers` the use event it answers, `confirms` the one now allowed.

    `repeated`: the same answer was taken before, so that nothing happens.
    """

    event: ClientEvent
    item: str | None = None
    answers: str | None = None
    confirms: str | None = None
    repeated: bool = False


class Sent(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="sent"):
    """A batch of client events, or the queued part of one whose turn begins."""

    events: list[SentEvent]


class SessionChanged(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="changed"):
    """A change by `sessions.update` that the universal session does not have."""

    agent: Json | UnsetType = UNSET
    budget: Json | UnsetType = UNSET
    vault_ids: list[str] | UnsetType = UNSET


class Archived(Struct, frozen=True, kw_only=True, tag_field="type", tag="archived"):
    pass


class ThreadArchived(Struct, frozen=True, kw_only=True, tag_field="type", tag="thread_archived"):
    thread: str


class Troubled(Struct, frozen=True, kw_only=True, tag_field="type", tag="troubled"):
    """Errors that do not stop the session."""

    errors: list[SessionFailure]


class Evaluating(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="evaluating"):
    """The evaluation runs in the session `judge`."""

    judge: str | None = None


class Evaluated(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="evaluated"):
    """The result of an evaluation. `item` is the message that asks the agent to continue, if it should."""

    result: str
    explanation: str
    usage: ModelRequestUsage
    cost_usd: float = 0.0
    item: str | None = None


class ThreadCalled(Struct, frozen=True, kw_only=True, tag_field="type", tag="thread_called"):
    """The coordinator gave a message to a thread of its roster, which is created if it is new."""

    key: str
    session: str
    name: str
    message: str


class ThreadMessage(Struct, frozen=True, kw_only=True, tag_field="type", tag="thread_message"):
    """The same in the thread's own session."""

    message: str


class ThreadAsk(Struct, frozen=True, kw_only=True):
    """A required action of a thread, and the event that asks for it."""

    action: Action
    use: ToolUse | McpToolUse | CustomToolUse


class ThreadReport(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="thread_report"):
    """The state of a thread's session after its event `reached`, for the session of its coordinator.

    `asks` are all that are open. `answers` came since the last report, `reply` is the thread's last message.
    """

    key: str
    reached: int
    status: Status
    stop: Stop = Stop(type="end_turn")
    usage: Usage = Usage()
    cost_usd: float = 0.0
    asks: dict[str, ThreadAsk] = {}
    answers: list[UserToolConfirmation | UserCustomToolResult | UserToolResult] = []
    reply: list[MessageBlock] = []


Command: TypeAlias = (
    Sent
    | SessionChanged
    | Archived
    | ThreadArchived
    | Troubled
    | Evaluating
    | Evaluated
    | ThreadCalled
    | ThreadMessage
    | ThreadReport
)


class CommandFrame(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The part of a frame that a projection reads."""

    managed: Command | None = None
