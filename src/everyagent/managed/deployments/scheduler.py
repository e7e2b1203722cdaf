"""Starts scheduled runs of deployments when they are due: one run for each moment, also in a cluster."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import anyio
import msgspec
from msgspec.structs import replace

from everyagent.clock import Clock, rfc3339
from everyagent.errors import EveryagentError, RecordChanged, RecordExists
from everyagent.log.records import Insert, Record, RecordQuery, Records
from everyagent.logs import get_logger
from everyagent.managed.deployments.cron import parsed
from everyagent.managed.deployments.runs import Runs, new_run
from everyagent.managed.deployments.shape import DeploymentBody, ScheduleTrigger
from everyagent.managed.deployments.store import KIND, DeploymentStore
from everyagent.model.principals import acting_in

#: A run that is later than this, because no daemon ran, is missed.
MISSED_AFTER: Final = 300_000_000
#: So many missed runs of a deployment are recorded, the newest ones.
MAX_MISSED: Final = 100
#: So many moments of a schedule are looked at for missed runs.
_MAX_DUE: Final = 100_000
#: The longest sleep in seconds while a schedule exists: a clock may be set, a machine suspended.
_LONGEST_SLEEP: Final = 30.0
#: After a failure, such as a database that is away, it is tried again so much later.
_AGAIN: Final = 5_000_000
#: In a cluster, another node may still work on a run that it recorded so recently.
_IN_PROGRESS: Final = 120_000_000
logger = get_logger(__name__)


class Scheduler:
    """`changed` is set when a deployment was made or changed on this node. Other nodes of a cluster look for it."""

    def __init__(
        self, records: Records, clock: Clock, deployments: DeploymentStore, runs: Runs, *, clustered: bool
    ) -> None:
        self._records = records
        self._clock = clock
        self._deployments = deployments
        self._runs = runs
        self._clustered = clustered
        self.changed = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled. A failure is logged, and tried again at the next round."""
        recovered = False
        while True:
            self.changed.clear()
            earliest: int | None = None
            try:
                if self._clustered or not recovered:
                    await self._runs.recover(self._clock.micros() - (_IN_PROGRESS if self._clustered else 0))
                    recovered = True
                earliest = await self.fire_due()
            except Exception:
                logger.exception("deployments could not be checked")
                earliest = self._clock.micros() + _AGAIN
            await self._sleep(earliest)

    async def _sleep(self, earliest: int | None) -> None:
        seconds = None
        if earliest is not None:
            seconds = min(max((earliest - self._clock.micros()) / 1_000_000, 0.05), _LONGEST_SLEEP)
        elif self._clustered:
            seconds = _LONGEST_SLEEP
        with anyio.move_on_after(seconds):
            await self.changed.wait()

    async def fire_due(self) -> int | None:
        """Starts what is due. Returns the moment of the next run, if there is one."""
        earliest: int | None = None
        async for record in self._active():
            body = msgspec.json.decode(record.body, type=DeploymentBody)
            if body.next_at is None or body.paused is not None:
                continue
            at = body.next_at
            if at <= self._clock.micros():
                try:
                    with acting_in(record.workspace):
                        at = await self._fire(record, self._deployments.body_of(record)) or at
                except EveryagentError as error:
                    logger.warning("a deployment did not run", deployment=record.id, error=str(error))
            earliest = at if earliest is None else min(earliest, at)
        return earliest

    async def _active(self) -> AsyncIterator[Record]:
        query = RecordQuery(kind=KIND, order="asc", limit=500)
        while True:
            found = await self._records.page(query)
            for record in found[: query.limit]:
                yield record
            if len(found) <= query.limit:
                return
            query = replace(query, after=found[query.limit - 1].number)

    async def _fire(self, record: Record, body: DeploymentBody) -> int | None:
        """Records the runs that are due in one transaction, and starts the latest if it is in time."""
        now = self._clock.micros()
        due, next_at = _due(body, now)
        current = due.pop() if due and now - due[-1] <= MISSED_AFTER else None
        changes = [each for at in due[-MAX_MISSED:] for each in new_run(record.id, body, _at(at), _missed(at, due))]
        claim: list[Insert] = new_run(record.id, body, _at(current)) if current is not None else []
        moved = replace(body, next_at=next_at, last_run_at=now if claim else body.last_run_at)
        try:
            written = await self._records.write(self._deployments.replacement(record, moved), *changes, *claim)
        except (RecordChanged, RecordExists):
            return None  # another node, or a client, was first
        if due:
            logger.warning("runs of a deployment were missed", deployment=record.id, runs=len(due))
        if claim:
            await self._runs.start(written[-2])
        return next_at


def _due(body: DeploymentBody, now: int) -> tuple[list[int], int | None]:
    """The moments of the schedule until now that have no run, and the next one."""
    if body.schedule is None or body.next_at is None:
        return [], None
    cron, due = parsed(body.schedule.expression, body.schedule.timezone), list[int]()
    for at in cron.after(body.next_at - 1):
        if at > now:
            return due, at
        due.append(at)
        if len(due) >= _MAX_DUE:
            return due, next(cron.after(now), None)
    return due, None


def _at(moment: int) -> ScheduleTrigger:
    return ScheduleTrigger(scheduled_at=rfc3339(moment))


def _missed(at: int, due: list[int]) -> str:
    more = (
        f" {len(due) - MAX_MISSED} earlier runs were missed as well." if len(due) > MAX_MISSED and at == due[-1] else ""
    )
    return f"This run was missed: no daemon was running at {rfc3339(at)}.{more}"
