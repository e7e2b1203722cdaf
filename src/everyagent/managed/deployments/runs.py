"""Runs of deployments: each is recorded first, then gets its session, also if a daemon dies in between."""

import msgspec
from msgspec.structs import replace

from everyagent.clock import Clock, rfc3339
from everyagent.errors import EveryagentError, NotFound, RecordChanged, SessionNotFound
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.logs import get_logger
from everyagent.managed.deployments.failures import pauses, run_error
from everyagent.managed.deployments.shape import (
    DeploymentBody,
    DeploymentRun,
    ErrorType,
    ManualTrigger,
    PausedByError,
    RunBody,
    RunError,
    RunListQuery,
    ScheduleTrigger,
)
from everyagent.managed.deployments.store import DeploymentStore
from everyagent.managed.resources.agents.shape import AgentById
from everyagent.managed.resources.pages import Page, filtered_page, micros
from everyagent.managed.sessions.creation import Origin, SessionCreation
from everyagent.managed.sessions.shape import DEPLOYMENT_KIND, SessionCreate
from everyagent.model.ids import new_id
from everyagent.sessions import Sessions

KIND = "deployment_run"
#: Marks a run that has no session yet.
PENDING = "pending_deployment_run"
logger = get_logger(__name__)


class Runs:
    def __init__(
        self,
        records: Records,
        clock: Clock,
        sessions: Sessions,
        *,
        deployments: DeploymentStore,
        creating: SessionCreation,
    ) -> None:
        self._records = records
        self._clock = clock
        self._sessions = sessions
        self._deployments = deployments
        self._creating = creating

    async def run(self, deployment_id: str) -> DeploymentRun:
        """A run that a client asks for, also of a paused deployment."""
        record = await self._deployments.find_active(deployment_id)
        changes = new_run(record.id, self._deployments.body_of(record), ManualTrigger())
        run, _ = await self._records.write(*changes)
        return await self.start(run)

    async def retrieve(self, run_id: str) -> DeploymentRun:
        return shown(await self._records.find(KIND, run_id))

    async def list(self, asked: RunListQuery) -> Page[DeploymentRun]:
        """Newest first."""
        since = [micros(asked.created_at_gte), _next(micros(asked.created_at_gt), 1)]
        until = [micros(asked.created_at_lte), _next(micros(asked.created_at_lt), -1)]
        query = RecordQuery(
            kind=KIND,
            parent=asked.deployment_id,
            limit=asked.limit,
            since=max((at for at in since if at is not None), default=None),
            until=min((at for at in until if at is not None), default=None),
        )

        def wanted(run: DeploymentRun) -> bool:
            by_error = asked.has_error in (None, run.error is not None)
            scheduled = isinstance(run.trigger_context, ScheduleTrigger)
            return by_error and asked.trigger_type in (None, "schedule" if scheduled else "manual")

        return await filtered_page(self._records, query, asked.page, shown, wanted)

    async def start(self, run: Record) -> DeploymentRun:
        """Makes the session of a run that was recorded, or records why there is none."""
        body = msgspec.json.decode(run.body, type=RunBody)
        try:
            record = await self._deployments.find_active(body.deployment_id)
            await self._create(self._deployments.body_of(record), body, record.id)
        except EveryagentError as error:
            return await self._failed(run, body, run_error(error))
        except Exception as error:
            logger.exception("a run of a deployment failed", deployment=body.deployment_id)
            return await self._failed(run, body, RunError(type="unknown_error", message=str(error)))
        await self._finish(run, body)
        return shown(run)

    async def recover(self, older_than: int) -> None:
        """Starts runs that a dead daemon recorded before this moment, and gave no session."""
        for mark in await self._records.page(RecordQuery(kind=PENDING, order="asc", until=older_than, limit=1000)):
            run = await self._records.find(KIND, mark.parent)
            body = msgspec.json.decode(run.body, type=RunBody)
            try:
                await self._sessions.get(body.session_id or "")
            except SessionNotFound:  # the session of that try is given up elsewhere, so this one has another id
                again = replace(body, session_id=new_id("sesn_"))
                change = Replace(kind=KIND, id=run.id, version=run.version, body=msgspec.json.encode(again))
                try:
                    (run,) = await self._records.write(change)
                except RecordChanged:
                    continue  # another node starts it
                await self.start(run)
            else:
                await self._finish(run, body)

    async def _finish(self, run: Record, body: RunBody) -> None:
        """The run has its session, which is listed by its deployment from now on."""
        session_id = body.session_id or ""
        owner = Insert(
            kind=DEPLOYMENT_KIND, id=f"of_{session_id}", parent=session_id, key=body.deployment_id, body=b"{}"
        )
        await self._records.write(owner, Delete(kind=PENDING, id=_mark(run.id)))

    async def _create(self, deployment: DeploymentBody, run: RunBody, deployment_id: str) -> None:
        asked = SessionCreate(
            agent=AgentById(id=run.agent.id, version=run.agent.version),
            environment_id=deployment.environment_id,
            title=deployment.name,
            metadata=deployment.metadata,
            resources=deployment.resources,
            vault_ids=deployment.vault_ids,
            budget=deployment.budget,
        )
        origin = Origin(run.session_id or "", deployment_id, deployment.initial_events)
        await self._creating.create(asked, origin=origin)

    async def _failed(self, run: Record, body: RunBody, error: RunError) -> DeploymentRun:
        failed = replace(body, session_id=None, error=error)
        change = Replace(kind=KIND, id=run.id, version=run.version, body=msgspec.json.encode(failed))
        (run,) = await self._records.write(change, Delete(kind=PENDING, id=_mark(run.id)))
        if isinstance(body.trigger_context, ScheduleTrigger) and pauses(error):
            await self._pause(body.deployment_id, error)
        return shown(run)

    async def _pause(self, deployment_id: str, error: RunError) -> None:
        """Later runs would fail as well."""
        try:
            record = await self._deployments.find_active(deployment_id)
            paused = PausedByError(error=ErrorType(type=error.type))
            body = replace(self._deployments.body_of(record), paused=paused)
            await self._records.write(self._deployments.replacement(record, body))
        except (EveryagentError, NotFound) as refused:
            logger.info("a deployment was changed meanwhile", deployment=deployment_id, why=str(refused))


def new_run(
    deployment_id: str, body: DeploymentBody, trigger: ScheduleTrigger | ManualTrigger, missed: str | None = None
) -> list[Insert]:
    """The records of a run. Of two at the same moment of a schedule, only one can be written."""
    run_id = new_id("drun_")
    session_id = None if missed else new_id("sesn_")
    error = RunError(type="unknown_error", message=missed) if missed else None
    run = RunBody(
        agent=body.agent, deployment_id=deployment_id, trigger_context=trigger, session_id=session_id, error=error
    )
    key = trigger.scheduled_at if isinstance(trigger, ScheduleTrigger) else None
    insert = Insert(kind=KIND, id=run_id, parent=deployment_id, key=key, body=msgspec.json.encode(run))
    return [insert] if missed else [insert, Insert(kind=PENDING, id=_mark(run_id), parent=run_id, body=b"{}")]


def shown(record: Record) -> DeploymentRun:
    body = msgspec.json.decode(record.body, type=RunBody)
    return DeploymentRun(
        id=record.id,
        agent=body.agent,
        deployment_id=body.deployment_id,
        trigger_context=body.trigger_context,
        session_id=body.session_id,
        error=body.error,
        created_at=rfc3339(record.created_at),
    )


def _mark(run_id: str) -> str:
    return f"pending_{run_id}"


def _next(at: int | None, step: int) -> int | None:
    return None if at is None else at + step
