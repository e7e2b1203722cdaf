"""Environments: made, changed, archived, deleted."""

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest, RecordChanged
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.managed.field_limits import checked_metadata, merged_metadata
from everyagent.managed.resources.archiving import archived
from everyagent.managed.resources.environments.shape import (
    MANAGERS,
    Cloud,
    CloudParams,
    Config,
    ConfigParams,
    Deleted,
    Environment,
    EnvironmentBody,
    EnvironmentCreate,
    EnvironmentList,
    EnvironmentUpdate,
    Limited,
    LimitedParams,
    Packages,
    PackagesParams,
    SelfHosted,
    Unrestricted,
)
from everyagent.managed.resources.pages import Page, page_of
from everyagent.model.hosts import host_in
from everyagent.model.ids import new_id

KIND = "environment"


class Environments:
    """Names are unique among those that are not archived."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def create(self, asked: EnvironmentCreate) -> Environment:
        body = EnvironmentBody(
            name=asked.name,
            config=_config(Cloud(), asked.config or CloudParams()),
            description=asked.description or "",
            metadata=checked_metadata(asked.metadata or {}),
            scope=asked.scope or "organization",
        )
        (record,) = await self._records.write(
            Insert(kind=KIND, id=new_id("env_"), key=body.name, body=msgspec.json.encode(body))
        )
        return _environment(record)

    async def retrieve(self, environment_id: str) -> Environment:
        return _environment(await self._records.find(KIND, environment_id))

    async def for_session(self, environment_id: str) -> Environment:
        """An archived one takes no new sessions."""
        environment = await self.retrieve(environment_id)
        if environment.archived_at is not None:
            raise _archived(environment_id, "it takes no new sessions")
        return environment

    async def list(self, query: EnvironmentList) -> Page[Environment]:
        wanted = RecordQuery(kind=KIND, limit=query.limit, archived=query.include_archived)
        return await page_of(self._records, wanted, query.page, _environment)

    async def update(self, environment_id: str, asked: EnvironmentUpdate) -> Environment:
        """Sessions that are there already keep what they began with."""
        while True:
            record = await self._records.find(KIND, environment_id)
            if record.archived_at is not None:
                raise _archived(environment_id, "it stays as it is")
            body = _updated(_body(record), asked)
            try:
                (record,) = await self._records.write(
                    Replace(
                        kind=KIND,
                        id=environment_id,
                        version=record.version,
                        key=body.name,
                        body=msgspec.json.encode(body),
                    )
                )
            except RecordChanged:
                continue
            return _environment(record)

    async def archive(self, environment_id: str) -> Environment:
        return _environment(await archived(self._records, KIND, environment_id))

    async def delete(self, environment_id: str) -> Deleted:
        await self._records.write(Delete(kind=KIND, id=environment_id))
        return Deleted(id=environment_id, type="environment_deleted")


def _updated(old: EnvironmentBody, asked: EnvironmentUpdate) -> EnvironmentBody:
    return EnvironmentBody(
        name=asked.name or old.name,
        config=_config(old.config, _same_kind(old.config, asked.config)) if asked.config else old.config,
        description=old.description if asked.description is UNSET else asked.description or "",
        metadata=merged_metadata(old.metadata, asked.metadata) if asked.metadata else old.metadata,
        scope=asked.scope or old.scope,
    )


def _same_kind(old: Config, asked: ConfigParams) -> ConfigParams:
    if isinstance(old, SelfHosted) != isinstance(asked, SelfHosted):
        raise BadRequest(
            "An environment stays of its kind: `config.type` cannot change. Make another one.",
            field="config.type",
            error_code="invalid_config_type_change",
        )
    return asked


def _config(old: Config, asked: ConfigParams) -> Config:
    """With every default filled in; what is left out stays as it was."""
    match asked:
        case SelfHosted():
            return asked
        case CloudParams():
            before = old if isinstance(old, Cloud) else Cloud()
            config = Cloud(
                networking=_networking(before.networking, asked.networking or None),
                packages=_packages(before.packages, asked.packages or None),
            )
    closed = isinstance(config.networking, Limited) and not config.networking.allow_package_managers
    if closed and any(getattr(config.packages, manager) for manager in MANAGERS):
        raise BadRequest(
            "`packages` cannot be installed where `networking` does not allow package managers. Set "
            "`allow_package_managers` to true.",
            field="config.networking",
        )
    for host in config.networking.allowed_hosts if isinstance(config.networking, Limited) else ():
        if host_in(host) is None:
            raise BadRequest(
                f"{host!r} names no host. Write it as in example.org or *.example.org.",
                field="config.networking.allowed_hosts",
            )
    return config


def _networking(old: Unrestricted | Limited, asked: object) -> Unrestricted | Limited:
    match asked:
        case LimitedParams():
            before = old if isinstance(old, Limited) else Limited()
            return Limited(
                allowed_hosts=before.allowed_hosts if asked.allowed_hosts is UNSET else asked.allowed_hosts or [],
                allow_mcp_servers=_switch(asked.allow_mcp_servers, before.allow_mcp_servers),
                allow_package_managers=_switch(asked.allow_package_managers, before.allow_package_managers),
            )
        case None:
            return old
        case _:
            return Unrestricted()


def _switch(asked: object, before: bool) -> bool:
    return asked if isinstance(asked, bool) else before if asked is UNSET else False


def _packages(old: Packages, asked: PackagesParams | None) -> Packages:
    if asked is None:
        return old
    given: dict[str, list[str] | None] = {
        name: value for name in MANAGERS if (value := getattr(asked, name)) is not UNSET
    }
    return replace(old, **{name: value or [] for name, value in given.items()})


def _archived(environment_id: str, so: str) -> BadRequest:
    return BadRequest(f"The environment {environment_id} is archived: {so}.", error_code="environment_archived")


def _body(record: Record) -> EnvironmentBody:
    return msgspec.json.decode(record.body, type=EnvironmentBody)


def _environment(record: Record) -> Environment:
    return Environment(
        id=record.id,
        created_at=rfc3339(record.created_at),
        updated_at=rfc3339(record.updated_at),
        archived_at=None if record.archived_at is None else rfc3339(record.archived_at),
        **msgspec.structs.asdict(_body(record)),
    )
