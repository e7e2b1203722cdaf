"""The store of environments."""

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from everyagent.errors import BadRequest
from everyagent.log.records import Records, Replace
from everyagent.managed.field_limits import checked_metadata, merged_metadata
from everyagent.managed.resources.environments.shape import (
    MANAGERS,
    Cloud,
    CloudParams,
    Config,
    ConfigParams,
    Environment,
    EnvironmentBody,
    EnvironmentCreate,
    EnvironmentUpdate,
    Limited,
    LimitedParams,
    Packages,
    PackagesParams,
    SelfHosted,
    Unrestricted,
)
from everyagent.managed.resources.record_store import RecordStore, retry_on_change
from everyagent.model.hosts import host_in
from everyagent.model.ids import new_id

KIND = "environment"


class EnvironmentStore(RecordStore[EnvironmentBody, Environment]):
    """Names are unique among the environments that are not archived."""

    def __init__(self, records: Records) -> None:
        super().__init__(records, KIND, EnvironmentBody, Environment)

    async def create(self, asked: EnvironmentCreate) -> Environment:
        body = EnvironmentBody(
            name=asked.name,
            config=_config(Cloud(), asked.config or CloudParams()),
            description=asked.description or "",
            metadata=checked_metadata(asked.metadata or {}),
            scope=asked.scope or "organization",
        )
        return await self._insert(new_id("env_"), body, key=body.name)

    @retry_on_change
    async def update(self, environment_id: str, asked: EnvironmentUpdate) -> Environment:
        """Existing sessions keep the environment they started with."""
        old = await self._find_active(environment_id)
        body = _updated(self._body(old), asked)
        change = Replace(
            kind=KIND, id=environment_id, version=old.version, key=body.name, body=msgspec.json.encode(body)
        )
        (record,) = await self._records.write(change)
        return self._shown(record)


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
    """Fills in defaults; omitted fields stay as they were."""
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
                f"{host!r} is not a host. Write it like example.org or *.example.org.",
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
