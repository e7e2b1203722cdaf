"""What a frame tells the view beside the session's own events: the request behind it, as the daemon understood it.

Frames are kept, so a view made anew from them is the same.
"""

from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType

from everyagent.managed.projection.events import ModelRequestUsage, SessionFailure
from everyagent.managed.sessions.client_events import ClientEvent
from everyagent.model.parts import Json


class SentEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`item` is the message it goes with; `answers` the use event it answers; `confirms` the one that the client may
    carry out now.

    `note` is what the agent will be told of the answer when it no longer waits for it, `grant` that it may do
    without asking again what was allowed.
    """

    event: ClientEvent
    item: str | None = None
    answers: str | None = None
    confirms: str | None = None
    note: str | None = None
    grant: bool = False


class Sent(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="sent"):
    """A batch of client events; or what of it begins its turn now, having waited.

    `resumes` is the message in which the agent hears of the answers to what was parked.
    """

    events: list[SentEvent]
    resumes: str | None = None


class SessionChanged(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="changed"):
    """What `sessions.update` changed and the universal session does not know of."""

    agent: Json | UnsetType = UNSET
    budget: Json | UnsetType = UNSET


class Archived(Struct, frozen=True, kw_only=True, tag_field="type", tag="archived"):
    pass


class ThreadArchived(Struct, frozen=True, kw_only=True, tag_field="type", tag="thread_archived"):
    thread: str


class Troubled(Struct, frozen=True, kw_only=True, tag_field="type", tag="troubled"):
    """What the session has to do without, and why: it goes on."""

    errors: list[SessionFailure]


class Evaluating(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="evaluating"):
    """The evaluation goes on, in the session `judge`."""

    judge: str | None = None


class Evaluated(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="evaluated"):
    """What came of an evaluation. `item` is the message that asks the agent to go on, if it shall."""

    result: str
    explanation: str
    usage: ModelRequestUsage
    cost_usd: float = 0.0
    item: str | None = None


Command: TypeAlias = Sent | SessionChanged | Archived | ThreadArchived | Troubled | Evaluating | Evaluated


class CommandFrame(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A frame, as far as a view reads it. `cause` is the daemon's own note."""

    managed: Command | None = None
    cause: str | None = None
