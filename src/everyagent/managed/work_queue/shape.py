"""The wire types of work: a session in a self-hosted environment that needs a worker to run its tools."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from everyagent.clock import rfc3339
from everyagent.log.records import Record
from everyagent.managed.field_limits import PageLimit
from everyagent.managed.resources.record_store import moment

WorkState: TypeAlias = Literal["queued", "starting", "active", "stopping", "stopped"]
#: The default length of a lease; workers send two heartbeats in that time.
LEASE_SECONDS = 30
MICROS = 1_000_000


class SessionData(Struct, frozen=True, kw_only=True, tag="session"):
    id: str


class Work(Struct, frozen=True, kw_only=True, tag="work"):
    """`secret` is in the response to a poll only."""

    id: str
    environment_id: str
    state: WorkState
    data: SessionData
    metadata: dict[str, str]
    created_at: str
    acknowledged_at: str | None
    started_at: str | None
    latest_heartbeat_at: str | None
    stop_requested_at: str | None
    stopped_at: str | None
    secret: str | None = None


class Heartbeat(Struct, frozen=True, kw_only=True, tag="work_heartbeat"):
    last_heartbeat: str
    lease_extended: bool
    state: WorkState
    ttl_seconds: int


class QueueStats(Struct, frozen=True, kw_only=True, tag="work_queue_stats"):
    """`depth` counts work that waits for a worker, `pending` work that was polled and not acknowledged, or that waits
    because its workers failed.

    `failures`: the most workers in a row that left a piece of work without any progress of its session. `next_try_at`:
    the earliest time at which delayed work can be claimed; the delay grows to five minutes at most.
    """

    depth: int
    pending: int
    oldest_queued_at: str | None
    workers_polling: int
    failures: int
    next_try_at: str | None


class WorkPoll(Struct, frozen=True, kw_only=True):
    """Without `block_ms` the response comes at once. `reclaim_older_than_ms` counts as one second at least."""

    block_ms: Annotated[int, Meta(ge=1, le=999)] | None = None
    reclaim_older_than_ms: Annotated[int, Meta(ge=0, le=86_400_000)] | None = None


class WorkBeat(Struct, frozen=True, kw_only=True):
    desired_ttl_seconds: Annotated[int, Meta(ge=1, le=3600)] | None = None
    expected_last_heartbeat: str | None = None


class WorkStop(Struct, frozen=True, kw_only=True):
    force: bool = False


class WorkUpdate(Struct, frozen=True, kw_only=True):
    """A null value removes its key."""

    metadata: dict[str, str | None]


class WorkListQuery(Struct, frozen=True, kw_only=True):
    limit: PageLimit = 20
    page: str | None = None


class WorkBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The stored part; times are microseconds. `turns` counts turns that began while it was open.

    `failures` counts workers in a row that stopped, or lost the work, without any progress of the session, which had
    `claimed_head` events when the last one claimed it. Nobody can claim the work before `not_before`.
    """

    session_id: str
    state: WorkState = "queued"
    metadata: dict[str, str] = {}
    claimed_at: int | None = None
    acknowledged_at: int | None = None
    started_at: int | None = None
    heartbeat_at: int | None = None
    ttl_seconds: int = LEASE_SECONDS
    stop_requested_at: int | None = None
    stopped_at: int | None = None
    turns: int = 0
    failures: int = 0
    claimed_head: int | None = None
    not_before: int = 0

    @property
    def last_heartbeat(self) -> str | None:
        return None if self.heartbeat_at is None else rfc3339(self.heartbeat_at)

    @property
    def was_claimed(self) -> bool:
        """Whether a worker has it, or lost it."""
        return self.state != "queued" or self.claimed_at is not None

    def free(self, now: int, reclaim_micros: int) -> bool:
        """Whether it can be claimed: never claimed, not acknowledged in time, or its lease has expired."""
        if now < self.not_before:
            return False
        if self.state == "queued":
            return self.claimed_at is None or now - self.claimed_at >= reclaim_micros
        since = self.heartbeat_at or self.acknowledged_at or 0
        return self.state != "stopped" and now - since >= self.ttl_seconds * MICROS


def shown(record: Record, body: WorkBody, secret: str | None = None) -> Work:
    return Work(
        id=record.id,
        environment_id=record.parent,
        state=body.state,
        data=SessionData(id=body.session_id),
        metadata=body.metadata,
        created_at=rfc3339(record.created_at),
        acknowledged_at=moment(body.acknowledged_at),
        started_at=moment(body.started_at),
        latest_heartbeat_at=body.last_heartbeat,
        stop_requested_at=moment(body.stop_requested_at),
        stopped_at=moment(body.stopped_at),
        secret=secret,
    )
