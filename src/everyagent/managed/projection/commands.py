"""Commands to a projection that are stored in frames: the request behind a frame, as the daemon understood it.

Frames are stored, so a projection that is rebuilt from them is the same.
"""

from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType

from everyagent.managed.projection.events import ModelRequestUsage, SessionFailure
from everyagent.managed.sessions.client_events import ClientEvent
from everyagent.model.parts import Json


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


Command: TypeAlias = Sent | SessionChanged | Archived | ThreadArchived | Troubled | Evaluating | Evaluated


class CommandFrame(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The part of a frame that a projection reads."""

    managed: Command | None = None
