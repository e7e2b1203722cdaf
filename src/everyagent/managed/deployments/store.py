"""The store of deployments: what runs, with what, and when next."""

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from everyagent.clock import Clock, rfc3339
from everyagent.errors import BadRequest
from everyagent.log.records import Insert, Record, RecordQuery, Records, Replace
from everyagent.managed.deployments.cron import parsed
from everyagent.managed.deployments.shape import (
    CronSchedule,
    Deployment,
    DeploymentBody,
    DeploymentCreate,
    DeploymentListQuery,
    DeploymentUpdate,
    PausedByHand,
    ShownSchedule,
)
from everyagent.managed.field_limits import checked_metadata, merged_metadata
from everyagent.managed.resources.agents.multiagent import AgentReference
from everyagent.managed.resources.agents.shape import AgentById
from everyagent.managed.resources.agents.store import AgentStore
from everyagent.managed.resources.environments.store import EnvironmentStore
from everyagent.managed.resources.pages import Page, filtered_page, micros
from everyagent.managed.resources.record_store import moment, retry_on_change
from everyagent.managed.resources.vaults.store import VaultStore
from everyagent.managed.sessions.conversation import Talking
from everyagent.managed.workspace.shape import RepositoryParams, ResourceParams
from everyagent.model.ids import new_id
from everyagent.model.parts import Object
from everyagent.sessions.launch.secrets import SecretVault

KIND = "deployment"
#: So many of the next runs are shown.
UPCOMING = 5


class DeploymentStore:
    def __init__(
        self,
        records: Records,
        vault: SecretVault,
        clock: Clock,
        *,
        agents: AgentStore,
        environments: EnvironmentStore,
        vaults: VaultStore,
        talking: Talking,
    ) -> None:
        self._records = records
        self._vault = vault
        self._clock = clock
        self._agents = agents
        self._environments = environments
        self._vaults = vaults
        self._talking = talking

    async def create(self, asked: DeploymentCreate) -> Deployment:
        body = DeploymentBody(
            name=asked.name,
            agent=await self._pinned(asked.agent),
            environment_id=asked.environment_id,
            initial_events=asked.initial_events,
            budget=asked.budget,
            description=asked.description or None,
            metadata=checked_metadata(asked.metadata or {}),
            resources=asked.resources or [],
            vault_ids=asked.vault_ids or [],
            schedule=asked.schedule,
        )
        await self._check(body)
        body = self._scheduled(body)
        id = new_id("depl_")
        insert = Insert(kind=KIND, id=id, body=_stored(body), secret=self._sealed(id, body))
        (record,) = await self._records.write(insert)
        return shown(record)

    @retry_on_change
    async def update(self, deployment_id: str, asked: DeploymentUpdate) -> Deployment:
        record = await self.find_active(deployment_id)
        old = self.body_of(record)
        body = replace(
            old,
            name=old.name if asked.name is UNSET else asked.name,
            agent=old.agent if asked.agent is UNSET else await self._pinned(asked.agent),
            environment_id=old.environment_id if asked.environment_id is UNSET else asked.environment_id,
            initial_events=old.initial_events if asked.initial_events is UNSET else asked.initial_events,
            budget=old.budget if asked.budget is UNSET else asked.budget,
            description=old.description if asked.description is UNSET else asked.description or None,
            metadata=old.metadata if asked.metadata is UNSET else merged_metadata(old.metadata, asked.metadata),
            resources=old.resources if asked.resources is UNSET else asked.resources or [],
            schedule=old.schedule if asked.schedule is UNSET else asked.schedule,
            vault_ids=old.vault_ids if asked.vault_ids is UNSET else asked.vault_ids or [],
        )
        await self._check(body)
        return await self._replaced(record, self._scheduled(body) if body.schedule != old.schedule else body)

    @retry_on_change
    async def pause(self, deployment_id: str) -> Deployment:
        record = await self.find_active(deployment_id)
        body = self.body_of(record)
        return shown(record) if body.paused else await self._replaced(record, replace(body, paused=PausedByHand()))

    @retry_on_change
    async def unpause(self, deployment_id: str) -> Deployment:
        """Runs that were due meanwhile are not made up for."""
        record = await self.find_active(deployment_id)
        body = self.body_of(record)
        if body.paused is None:
            return shown(record)
        return await self._replaced(record, self._scheduled(replace(body, paused=None)))

    @retry_on_change
    async def archive(self, deployment_id: str) -> Deployment:
        """It runs no more, and can be read."""
        record = await self._records.find(KIND, deployment_id)
        if record.archived_at is not None:
            return shown(record)
        body = replace(self.body_of(record), next_at=None, paused=None)
        return await self._replaced(record, body, archived=True)

    async def retrieve(self, deployment_id: str) -> Deployment:
        return shown(await self._records.find(KIND, deployment_id))

    async def list(self, asked: DeploymentListQuery) -> Page[Deployment]:
        """Newest first."""
        query = RecordQuery(
            kind=KIND,
            limit=asked.limit,
            archived=asked.include_archived,
            since=micros(asked.created_at_gte),
            until=micros(asked.created_at_lte),
        )

        def wanted(deployment: Deployment) -> bool:
            return asked.agent_id in (None, deployment.agent.id) and asked.status in (None, deployment.status)

        return await filtered_page(self._records, query, asked.page, shown, wanted)

    async def find_active(self, deployment_id: str) -> Record:
        record = await self._records.find(KIND, deployment_id)
        if record.archived_at is not None:
            raise BadRequest(
                f"The deployment {deployment_id} is archived: it can be read, but not used or changed.",
                error_code="deployment_archived",
            )
        return record

    def body_of(self, record: Record) -> DeploymentBody:
        """With the tokens of its repositories."""
        body = msgspec.json.decode(record.body, type=DeploymentBody)
        if record.secret is None:
            return body
        tokens = msgspec.json.decode(self._vault.unseal(record.secret, record.id), type=list[str | None])
        given = zip(body.resources, tokens, strict=True)
        return replace(body, resources=[_with_token(resource, token) for resource, token in given])

    def replacement(self, record: Record, body: DeploymentBody, *, archived: bool = False) -> Replace:
        return Replace(
            kind=KIND,
            id=record.id,
            version=record.version,
            body=_stored(body),
            secret=self._sealed(record.id, body),
            archived=archived or UNSET,
        )

    async def _replaced(self, record: Record, body: DeploymentBody, *, archived: bool = False) -> Deployment:
        (record,) = await self._records.write(self.replacement(record, body, archived=archived))
        return shown(record)

    async def _pinned(self, choice: str | AgentById) -> AgentReference:
        """The version of now, if none is named."""
        agent = await self._agents.for_session(choice)
        return AgentReference(id=agent.id, version=agent.version)

    async def _check(self, body: DeploymentBody) -> None:
        await self._environments.retrieve_active(body.environment_id)
        for vault_id in body.vault_ids:
            await self._vaults.retrieve_active(vault_id)
        await self._talking.check(body.initial_events)

    def _scheduled(self, body: DeploymentBody) -> DeploymentBody:
        """With its next run after now."""
        now = self._clock.micros()
        return replace(body, next_at=next_after(body.schedule, now) if body.schedule else None)

    def _sealed(self, id: str, body: DeploymentBody) -> bytes | None:
        tokens = [each.authorization_token if isinstance(each, RepositoryParams) else None for each in body.resources]
        return self._vault.seal(msgspec.json.encode(tokens), id) if any(tokens) else None


def next_after(schedule: CronSchedule, now: int) -> int | None:
    return next(parsed(schedule.expression, schedule.timezone).after(now), None)


def shown(record: Record) -> Deployment:
    body = msgspec.json.decode(record.body, type=DeploymentBody)
    return Deployment(
        id=record.id,
        name=body.name,
        agent=body.agent,
        environment_id=body.environment_id,
        initial_events=[_without(event, "id", "processed_at", "outcome_id") for event in body.initial_events],
        budget=body.budget,
        description=body.description,
        metadata=body.metadata,
        resources=[_without(resource, "authorization_token") for resource in body.resources],
        vault_ids=body.vault_ids,
        schedule=_shown_schedule(body, archived=record.archived_at is not None),
        status="paused" if body.paused else "active",
        paused_reason=body.paused,
        created_at=rfc3339(record.created_at),
        updated_at=rfc3339(record.updated_at),
        archived_at=moment(record.archived_at),
    )


def _shown_schedule(body: DeploymentBody, *, archived: bool) -> ShownSchedule | None:
    schedule = body.schedule
    if schedule is None:
        return None
    upcoming: list[str] = []
    if body.next_at is not None and not archived:
        later = parsed(schedule.expression, schedule.timezone).after(body.next_at - 1)
        upcoming = [rfc3339(at) for _, at in zip(range(UPCOMING), later, strict=False)]
    return ShownSchedule(
        expression=schedule.expression,
        timezone=schedule.timezone,
        last_run_at=moment(body.last_run_at),
        upcoming_runs_at=upcoming,
    )


def _stored(body: DeploymentBody) -> bytes:
    return msgspec.json.encode(replace(body, resources=[_with_token(each, None) for each in body.resources]))


def _with_token(resource: ResourceParams, token: str | None) -> ResourceParams:
    return replace(resource, authorization_token=token) if isinstance(resource, RepositoryParams) else resource


def _without(value: msgspec.Struct, *names: str) -> Object:
    given: Object = msgspec.to_builtins(value)
    return {name: each for name, each in given.items() if name not in names}
