"""Work of a self-hosted environment as its workers see it: a session that needs somebody to carry out its tools."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from everyagent.clock import rfc3339
from everyagent.log.records import Record
from everyagent.managed.field_limits import PageLimit
from everyagent.managed.resources.record_store import moment

WorkState: TypeAlias = Literal["queued", "starting", "active", "stopping", "stopped"]
#: How long a lease lasts when the worker does not say; workers tell of themselves twice in that time.
LEASE_SECONDS = 30
MICROS = 1_000_000


class SessionData(Struct, frozen=True, kw_only=True, tag="session"):
    id: str


class Work(Struct, frozen=True, kw_only=True, tag="work"):
    """`secret` is there when it was polled, and never again."""

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
    """`depth` waits for a worker, `pending` was polled and not acknowledged."""

    depth: int
    pending: int
    oldest_queued_at: str | None
    workers_polling: int


class WorkPoll(Struct, frozen=True, kw_only=True):
    """Without `block_ms` the answer comes at once."""

    block_ms: Annotated[int, Meta(ge=1, le=999)] | None = None
    reclaim_older_than_ms: Annotated[int, Meta(ge=0, le=86_400_000)] | None = None


class WorkBeat(Struct, frozen=True, kw_only=True):
    desired_ttl_seconds: Annotated[int, Meta(ge=1, le=3600)] | None = None
    expected_last_heartbeat: str | None = None


class WorkStop(Struct, frozen=True, kw_only=True):
    force: bool = False


class WorkUpdate(Struct, frozen=True, kw_only=True):
    """A value of null removes that key."""

    metadata: dict[str, str | None]


class WorkListQuery(Struct, frozen=True, kw_only=True):
    limit: PageLimit = 20
    page: str | None = None


class WorkBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As it is kept; times are microseconds. `turns` counts those that began meanwhile."""

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

    @property
    def last_heartbeat(self) -> str | None:
        return None if self.heartbeat_at is None else rfc3339(self.heartbeat_at)

    def free(self, now: int, reclaim_micros: int) -> bool:
        """Nobody has it: nobody ever had, or has acknowledged it in time, or has told of itself for a whole lease."""
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
