"""The work queue of self-hosted environments. Work is queued when a turn begins, leased by workers, and given to others
when a lease expires. Each change replaces one version of a record, so concurrent changes do not get lost."""

import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import anyio
import msgspec
from msgspec.structs import replace

from everyagent.clock import Clock, rfc3339
from everyagent.errors import Conflict, NotFound, PreconditionFailed, RecordChanged, RecordExists, RecordNotFound
from everyagent.log.records import Change, Insert, Record, RecordQuery, Records, Replace
from everyagent.logs import get_logger
from everyagent.managed.field_limits import merged_metadata
from everyagent.managed.resources.pages import Page, page_of
from everyagent.managed.resources.record_store import find_in, retry_on_change
from everyagent.managed.sessions.presentation import state_of
from everyagent.managed.work_queue.keys import WorkerKeys
from everyagent.managed.work_queue.shape import (
    MICROS,
    Heartbeat,
    QueueStats,
    Work,
    WorkBeat,
    WorkBody,
    WorkListQuery,
    WorkPoll,
    shown,
)
from everyagent.managed.work_queue.waiting import WaitingPolls
from everyagent.model.ids import new_id
from everyagent.sessions.projected import ProjectedSessions

KIND = "work"
NO_HEARTBEAT = "NO_HEARTBEAT"
_ENDING = ("stopping", "stopped")
_RECLAIM_MS = 5000
#: Claimed work is not given to another worker earlier than this.
_RECLAIM_FLOOR_MS = 1000
#: A waiting poll looks so often for work that other daemons queued, and for expired leases.
_LOOK_SECONDS = 1.0
_POLLING_MICROS = 30 * MICROS
_PAGE = 1000
_WORKER_CHARS = 256
MAX_BACKOFF = 300.0
logger = get_logger(__name__)


#: The memory stores of a session, each with whether it may write to it.
MemoryAccess = Callable[[str], Awaitable[dict[str, bool]]]


class WorkQueue:
    """A session has at most one open piece of work, with its id as the key. Stopped work is archived."""

    def __init__(
        self, projected: ProjectedSessions, records: Records, keys: WorkerKeys, memory: MemoryAccess, clock: Clock
    ) -> None:
        self._projected = projected
        self._records = records
        self._keys = keys
        self._memory = memory
        self._clock = clock
        self._workers: dict[str, dict[str, int]] = {}
        self._waiting = WaitingPolls()

    async def turn_begins(self, environment_id: str, session_id: str) -> None:
        """Queues work for the session, or counts a turn on its open work so that a worker about to stop notices it."""
        while True:
            open_work = [each for each in await self._open(environment_id) if each.key == session_id]
            try:
                if open_work:
                    body = _body(open_work[0])
                    await self._records.write(
                        _replaced(open_work[0], replace(body, turns=body.turns + 1, not_before=0))
                    )
                else:
                    await self._records.write(_new(environment_id, WorkBody(session_id=session_id)))
            except (RecordChanged, RecordExists, RecordNotFound):
                continue
            self._waiting.wake(environment_id)
            return

    # -- workers --------------------------------------------------------------------------------------------

    async def poll(self, environment_id: str, asked: WorkPoll, worker_id: str | None) -> Work | None:
        await self._records.find("environment", environment_id)
        if worker_id:
            recent = {each: workers for each in self._workers if (workers := self._polling(each))}
            workers = recent.get(environment_id, {}) | {worker_id[:_WORKER_CHARS]: self._clock.micros()}
            self._workers = recent | {environment_id: workers}
        until = anyio.current_time() + (asked.block_ms or 0) / 1000
        while True:
            with self._waiting.one(environment_id) as woken:  # before the look, so that nothing is missed
                work = await self._claimed(environment_id, asked)
                left = until - anyio.current_time()
                if work or left <= 0:
                    return work
                with anyio.move_on_after(min(_LOOK_SECONDS, left)):
                    await woken.wait()

    async def _claimed(self, environment_id: str, asked: WorkPoll) -> Work | None:
        reclaim = _RECLAIM_MS if asked.reclaim_older_than_ms is None else asked.reclaim_older_than_ms
        async with aclosing(self._all_open(environment_id)) as records:
            async for record in records:
                body = _body(record)
                if body.free(self._clock.micros(), max(reclaim, _RECLAIM_FLOOR_MS) * 1000):
                    try:
                        claimed = await self._claim(record, body)
                    except (RecordChanged, RecordNotFound):
                        continue
                    if claimed:
                        memory = await self._memory(body.session_id)
                        return shown(*claimed, self._keys.secret(environment_id, record.id, body.session_id, memory))
        return None

    async def _claim(self, record: Record, body: WorkBody) -> tuple[Record, WorkBody] | None:
        """None if its session is over, or if it has to wait because its last workers left it."""
        if body.state == "stopping" or not await self._lives(body.session_id):
            await self._end(record, body)
            return None
        now, head = self._clock.micros(), await self._head(body.session_id)
        queued = self._failed(body, head) if body.was_claimed else body
        if queued.not_before > now:
            await self._records.write(_replaced(record, queued))
            return None
        fresh = replace(queued, claimed_at=now, claimed_head=head)
        (claimed,) = await self._records.write(_replaced(record, fresh))
        return claimed, fresh

    async def ack(self, environment_id: str, work_id: str) -> Work:
        """The worker takes it, and sends heartbeats from now on."""

        def taken(body: WorkBody) -> WorkBody | None:
            if body.state not in ("queued", "starting"):
                raise Conflict(f"{work_id} is {body.state}: only queued work is acknowledged.", state=body.state)
            at = self._clock.micros()
            return (
                replace(body, state="starting", acknowledged_at=at, claimed_at=None) if body.state == "queued" else None
            )

        return shown(*await self._change(environment_id, work_id, taken))

    async def heartbeat(self, environment_id: str, work_id: str, asked: WorkBeat) -> Heartbeat:
        def alive(body: WorkBody) -> WorkBody | None:
            if body.state in _ENDING:
                return None
            expected = asked.expected_last_heartbeat
            actual = body.last_heartbeat or NO_HEARTBEAT
            if body.state == "queued" or (expected is not None and expected != actual):
                raise PreconditionFailed(
                    f"The lease of {work_id} is not this worker's: its last heartbeat was {actual}, not {expected}.",
                    error_code="heartbeat_precondition_failed",
                    current_state={
                        "state": body.state,
                        "last_heartbeat": body.last_heartbeat,
                        "lease_extended": False,
                        "ttl_seconds": body.ttl_seconds,
                    },
                )
            now = max(self._clock.micros(), (body.heartbeat_at or 0) + 1)
            return replace(
                body,
                state="active",
                started_at=body.started_at or now,
                heartbeat_at=now,
                ttl_seconds=asked.desired_ttl_seconds or body.ttl_seconds,
            )

        _, body = await self._change(environment_id, work_id, alive)
        return Heartbeat(
            last_heartbeat=body.last_heartbeat or "",
            lease_extended=body.state not in _ENDING,
            state=body.state,
            ttl_seconds=body.ttl_seconds,
        )

    @retry_on_change
    async def stop(self, environment_id: str, work_id: str, *, force: bool) -> Work:
        """Ends the work at once if it is forced or not claimed; else its worker gets the stop with its next
        heartbeat. Work of a session that is not done is queued again in the same transaction.
        """
        record, body = await self._find(environment_id, work_id)
        if body.state == "stopped":
            raise Conflict(f"{work_id} is stopped already.", state=body.state)
        if force or body.state in ("queued", "starting"):
            return await self._end(record, body)
        asked = replace(body, state="stopping", stop_requested_at=self._clock.micros())
        (record,) = await self._records.write(_replaced(record, asked))
        return shown(record, asked)

    async def _end(self, record: Record, body: WorkBody) -> Work:
        now = self._clock.micros()
        over = replace(body, state="stopped", stopped_at=now, stop_requested_at=body.stop_requested_at or now)
        changes: list[Change] = [
            Replace(
                kind=KIND,
                id=record.id,
                version=record.version,
                body=msgspec.json.encode(over),
                key=None,
                archived=True,
            )
        ]
        if await self._needs_worker(body.session_id):
            again = self._failed(body, await self._head(body.session_id))
            changes.append(_new(record.parent, replace(again, metadata={}, turns=0)))
        stopped, *_ = await self._records.write(*changes)
        self._waiting.wake(record.parent)
        return shown(stopped, over)

    def _failed(self, body: WorkBody, head: int) -> WorkBody:
        """Work that its worker left. It waits if its last workers left it without any progress of the session."""
        queued = WorkBody(session_id=body.session_id, metadata=body.metadata, turns=body.turns)
        if body.claimed_head is None or head != body.claimed_head:
            return queued
        failures = body.failures + 1
        seconds = backoff(failures, random.random())
        logger.warning("a worker made no progress", session=body.session_id, times=failures, next_in_seconds=seconds)
        return replace(queued, failures=failures, not_before=self._clock.micros() + int(seconds * MICROS))

    async def _head(self, session_id: str) -> int:
        return (await self._projected.log.projection(session_id)).head

    async def _needs_worker(self, session_id: str) -> bool:
        try:
            projection = await self._projected.log.projection(session_id)
        except NotFound:
            return False
        state = state_of(projection)
        return projection.status != "terminated" and bool(state.turn or state.actions or state.queued)

    async def _lives(self, session_id: str) -> bool:
        try:
            return (await self._projected.log.projection(session_id)).status != "terminated"
        except NotFound:
            return False

    # -- sessions of an environment, for its keys -----------------------------------------------------------

    async def environment_of(self, session_id: str) -> str | None:
        try:
            return (await self._projected.log.projection(session_id)).environment_id
        except NotFound:
            return None

    async def memory_of(self, environment_id: str) -> dict[str, bool]:
        stores: dict[str, bool] = {}
        for work in await self._open(environment_id):
            for store, writable in (await self._memory(_body(work).session_id)).items():
                stores[store] = writable or stores.get(store, False)
        return stores

    # -- looking --------------------------------------------------------------------------------------------

    async def retrieve(self, environment_id: str, work_id: str) -> Work:
        return shown(*await self._find(environment_id, work_id))

    async def update(self, environment_id: str, work_id: str, metadata: dict[str, str | None]) -> Work:
        def changed(body: WorkBody) -> WorkBody:
            return replace(body, metadata=merged_metadata(body.metadata, metadata))

        return shown(*await self._change(environment_id, work_id, changed))

    @retry_on_change
    async def _change(
        self, environment_id: str, work_id: str, change: Callable[[WorkBody], WorkBody | None]
    ) -> tuple[Record, WorkBody]:
        """The work after the change; `change` returns None for none."""
        record, body = await self._find(environment_id, work_id)
        changed = change(body)
        if changed is None:
            return record, body
        (record,) = await self._records.write(_replaced(record, changed))
        return record, changed

    async def list(self, environment_id: str, asked: WorkListQuery) -> Page[Work]:
        await self._records.find("environment", environment_id)
        wanted = RecordQuery(kind=KIND, parent=environment_id, limit=asked.limit, archived=True)
        return await page_of(self._records, wanted, asked.page, lambda record: shown(record, _body(record)))

    async def stats(self, environment_id: str) -> QueueStats:
        await self._records.find("environment", environment_id)
        now = self._clock.micros()
        work = await self._open(environment_id)
        bodies = [_body(each) for each in work]
        queued = [each for each, body in zip(work, bodies, strict=True) if body.state == "queued"]
        free = [body for body in bodies if body.state == "queued" and body.free(now, _RECLAIM_MS * 1000)]
        delayed = [body.not_before for body in bodies if body.not_before > now]
        return QueueStats(
            depth=len(free),
            pending=len(queued) - len(free),
            oldest_queued_at=rfc3339(queued[0].created_at) if queued else None,
            workers_polling=len(self._polling(environment_id)),
            failures=max((body.failures for body in bodies), default=0),
            next_try_at=rfc3339(min(delayed)) if delayed else None,
        )

    def _polling(self, environment_id: str) -> "dict[str, int]":
        """The workers that polled recently."""
        since = self._clock.micros() - _POLLING_MICROS
        return {name: at for name, at in self._workers.get(environment_id, {}).items() if at > since}

    async def _open(self, environment_id: str) -> "list[Record]":
        return [record async for record in self._all_open(environment_id)]

    async def _all_open(self, environment_id: str) -> AsyncGenerator[Record]:
        """Open work, oldest first, page by page."""
        wanted = RecordQuery(kind=KIND, parent=environment_id, order="asc", limit=_PAGE)
        while True:
            page = await self._records.page(wanted)
            for record in page[:_PAGE]:
                yield record
            if len(page) <= _PAGE:
                return
            wanted = replace(wanted, after=page[_PAGE - 1].number)

    async def _find(self, environment_id: str, work_id: str) -> tuple[Record, WorkBody]:
        missing = f"There is no work {work_id!r} in the environment {environment_id!r}."
        record = await find_in(self._records, KIND, work_id, environment_id, missing)
        return record, _body(record)


def backoff(failures: int, chance: float) -> float:
    """Seconds until the next try: none after the first failure, then twice as many each time, up to five minutes.

    `chance` (0 to 1) shortens them by up to a half, so that workers do not come back together.
    """
    if failures < 2:
        return 0.0
    return min(MAX_BACKOFF, 2.0 ** min(failures - 2, 20)) * (1 - chance / 2)


def _new(environment_id: str, body: WorkBody) -> Insert:
    encoded = msgspec.json.encode(body)
    return Insert(kind=KIND, id=new_id("work_"), parent=environment_id, key=body.session_id, body=encoded)


def _replaced(record: Record, body: WorkBody) -> Replace:
    return Replace(kind=KIND, id=record.id, version=record.version, body=msgspec.json.encode(body))


def _body(record: Record) -> WorkBody:
    return msgspec.json.decode(record.body, type=WorkBody)
