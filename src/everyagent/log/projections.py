"""Projections of sessions: events of another schema, committed together with the events they are derived from.

The log keeps them as it keeps events, under a number of their own; it knows nothing of what they say.
"""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import UNSET, Struct, UnsetType

from everyagent.log.log import NewEvent
from everyagent.log.records import DEFAULT_WORKSPACE

#: Set in a session's number, it names the session's projection: pages, tails and heads of it work as for events.
PROJECTION: Final = 1 << 30
#: Types from here on are left out of a projection's pages, unless they are asked for.
HIDDEN: Final = 61
#: The type of an event that a later one replaced.
SUPERSEDED: Final = 62


class NewProjection(Struct, frozen=True, kw_only=True):
    """`document` changes seldom, `state` with nearly every step; the log reads neither.

    One with an empty `environment_id` is not listed, unless a query asks for it.
    """

    agent_id: str
    agent_version: int
    environment_id: str
    status: str
    state: bytes
    document: bytes


class ProjectionStep(Struct, kw_only=True):
    """One step's changes to a projection. `expected` is its head before them; `hidden` counts events not in pages."""

    expected: int
    status: str
    state: bytes
    hidden: int = 0
    events: Sequence[NewEvent] = ()
    superseded: Sequence[int] = ()
    document: bytes | None = None
    archived_at: int | UnsetType = UNSET


class ProjectionRecord(Struct, frozen=True, kw_only=True):
    session: int
    session_id: str
    agent_id: str
    agent_version: int
    environment_id: str
    status: str
    created_at: int
    updated_at: int
    archived_at: int | None
    head: int
    hidden: int
    state: bytes
    document: bytes
    workspace: str = DEFAULT_WORKSPACE


class ProjectionQuery(Struct, frozen=True, kw_only=True):
    """`after` and `before` are sessions' numbers, exclusive; times are microseconds, `since` inclusive, `until` not.

    `owning` narrows it to sessions to which a record of this kind and key belongs. `unlisted`: also those without an
    environment.
    """

    statuses: Sequence[str] = ()
    agent_id: str | None = None
    agent_version: int | None = None
    owning: tuple[str, str] | None = None
    since: int | None = None
    until: int | None = None
    archived: bool = False
    unlisted: bool = False
    after: int | None = None
    before: int | None = None
    order: Literal["asc", "desc"] = "desc"
    limit: int = 100
    workspace: str | None = None
