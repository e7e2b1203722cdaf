"""The wire types of environments: their kind, packages and networking."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from everyagent.managed.field_limits import Description, Name

Scope: TypeAlias = Literal["organization", "account"]
#: Cannot be an option of a package manager.
Requirement: TypeAlias = Annotated[str, Meta(pattern="^[^-\\s][^\\x00-\\x1f]{0,255}$")]
Requirements: TypeAlias = Annotated[list[Requirement], Meta(max_length=256)]
MANAGERS = ("apt", "cargo", "gem", "go", "npm", "pip")


class UnrestrictedParams(Struct, frozen=True, kw_only=True, tag="unrestricted"):
    """No limits on the network."""


class LimitedParams(Struct, frozen=True, kw_only=True, tag="limited"):
    """Only these hosts, and those that the switches add."""

    allowed_hosts: Annotated[list[str], Meta(max_length=256)] | UnsetType | None = UNSET
    allow_mcp_servers: bool | UnsetType | None = UNSET
    allow_package_managers: bool | UnsetType | None = UNSET


class PackagesParams(Struct, frozen=True, kw_only=True):
    type: Literal["packages"] | UnsetType | None = UNSET
    apt: Requirements | UnsetType | None = UNSET
    cargo: Requirements | UnsetType | None = UNSET
    gem: Requirements | UnsetType | None = UNSET
    go: Requirements | UnsetType | None = UNSET
    npm: Requirements | UnsetType | None = UNSET
    pip: Requirements | UnsetType | None = UNSET


class CloudParams(Struct, frozen=True, kw_only=True, tag="cloud"):
    networking: UnrestrictedParams | LimitedParams | UnsetType | None = UNSET
    packages: PackagesParams | UnsetType | None = UNSET


class AnthropicCloudParams(CloudParams, frozen=True, kw_only=True, tag="anthropic_cloud"):
    """The name that earlier clients use for `cloud`."""


class Unrestricted(Struct, frozen=True, kw_only=True, tag="unrestricted"):
    pass


class Limited(Struct, frozen=True, kw_only=True, tag="limited"):
    allowed_hosts: list[str] = []
    allow_mcp_servers: bool = False
    allow_package_managers: bool = False


class Packages(Struct, frozen=True, kw_only=True, tag="packages"):
    """Packages to install, by package manager."""

    apt: list[str] = []
    cargo: list[str] = []
    gem: list[str] = []
    go: list[str] = []
    npm: list[str] = []
    pip: list[str] = []


class Cloud(Struct, frozen=True, kw_only=True, tag="cloud"):
    """Sessions work in a folder on the daemon's machine."""

    networking: Unrestricted | Limited = Unrestricted()
    packages: Packages = Packages()


class SelfHosted(Struct, frozen=True, kw_only=True, tag="self_hosted"):
    """The client's own worker runs the tools."""


ConfigParams: TypeAlias = CloudParams | AnthropicCloudParams | SelfHosted
Config: TypeAlias = Cloud | SelfHosted


class EnvironmentCreate(Struct, frozen=True, kw_only=True):
    name: Name
    config: ConfigParams | None = None
    description: Description | None = None
    metadata: dict[str, str] | None = None
    scope: Scope | None = None


class EnvironmentUpdate(Struct, frozen=True, kw_only=True):
    """Omitted fields stay as they are. A null or empty metadata value removes its key."""

    name: Name | UnsetType | None = UNSET
    config: ConfigParams | UnsetType | None = UNSET
    description: Description | UnsetType | None = UNSET
    metadata: dict[str, str | None] | UnsetType | None = UNSET
    scope: Scope | UnsetType | None = UNSET


class EnvironmentBody(Struct, frozen=True, kw_only=True):
    name: str
    config: Config
    description: str
    metadata: dict[str, str]
    scope: Scope


class Environment(EnvironmentBody, frozen=True, kw_only=True, tag="environment"):
    id: str
    created_at: str
    updated_at: str
    archived_at: str | None
