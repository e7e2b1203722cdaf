"""The wire types of vaults and credentials. Secrets are accepted and never returned."""

from datetime import datetime
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

DisplayName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=255)]
#: Values that fit in an environment variable (`Secret`) and in an HTTP header (`Token`).
Secret: TypeAlias = Annotated[str, Meta(min_length=1, max_length=65_536, pattern=r"^[^\0]*$")]
Token: TypeAlias = Annotated[str, Meta(max_length=65_536, pattern=r"^[!-~]+$")]
ServerUrl: TypeAlias = Annotated[str, Meta(pattern="^https?://[^ ]+$", max_length=2048)]
SecretName: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]{0,254}$")]


class VaultCreate(Struct, frozen=True, kw_only=True):
    display_name: DisplayName
    metadata: dict[str, str] | None = None


class VaultUpdate(Struct, frozen=True, kw_only=True):
    display_name: DisplayName | UnsetType | None = UNSET
    metadata: dict[str, str | None] | UnsetType | None = UNSET


class VaultBody(Struct, frozen=True, kw_only=True):
    display_name: str
    metadata: dict[str, str]


class Vault(VaultBody, frozen=True, kw_only=True, tag="vault"):
    id: str
    created_at: str
    updated_at: str
    archived_at: str | None


class NoneAuthParams(Struct, frozen=True, kw_only=True, tag="none"):
    pass


class BasicAuthParams(Struct, frozen=True, kw_only=True, tag="client_secret_basic"):
    client_secret: Secret | None = None


class PostAuthParams(Struct, frozen=True, kw_only=True, tag="client_secret_post"):
    client_secret: Secret | None = None


EndpointAuthParams: TypeAlias = NoneAuthParams | BasicAuthParams | PostAuthParams


class RefreshParams(Struct, frozen=True, kw_only=True):
    token_endpoint: ServerUrl
    client_id: str
    refresh_token: Secret
    token_endpoint_auth: EndpointAuthParams
    resource: str | None = None
    scope: str | None = None


class RefreshUpdate(Struct, frozen=True, kw_only=True):
    refresh_token: Secret | None = None
    scope: str | UnsetType | None = UNSET
    token_endpoint_auth: EndpointAuthParams | None = None


class OauthCreate(Struct, frozen=True, kw_only=True, tag="mcp_oauth"):
    mcp_server_url: ServerUrl
    access_token: Token
    expires_at: datetime | None = None
    refresh: RefreshParams | None = None


class BearerCreate(Struct, frozen=True, kw_only=True, tag="static_bearer"):
    """Without a server, the token is stored but never sent anywhere."""

    mcp_server_url: ServerUrl | None = None
    token: Token


class Everywhere(Struct, frozen=True, kw_only=True, tag="unrestricted"):
    """The secret may be sent to any host."""


class OnlyTo(Struct, frozen=True, kw_only=True, tag="limited"):
    allowed_hosts: Annotated[list[str], Meta(max_length=16)]


Reach: TypeAlias = Everywhere | OnlyTo


class InjectionParams(Struct, frozen=True, kw_only=True):
    body: bool | None = None
    header: bool | None = None


class VariableCreate(Struct, frozen=True, kw_only=True, tag="environment_variable"):
    secret_name: SecretName
    secret_value: Secret
    networking: Reach
    injection_location: InjectionParams | None = None


class OauthUpdate(Struct, frozen=True, kw_only=True, tag="mcp_oauth"):
    """`mcp_server_url` must be the credential's own, if given."""

    mcp_server_url: str | None = None
    access_token: Token | None = None
    expires_at: datetime | UnsetType | None = UNSET
    refresh: RefreshUpdate | None = None


class BearerUpdate(Struct, frozen=True, kw_only=True, tag="static_bearer"):
    """`mcp_server_url` must be the credential's own, if given."""

    mcp_server_url: str | None = None
    token: Token | None = None


class VariableUpdate(Struct, frozen=True, kw_only=True, tag="environment_variable"):
    """`secret_name` must be the credential's own, if given."""

    secret_name: str | None = None
    secret_value: Secret | None = None
    networking: Reach | None = None
    injection_location: InjectionParams | None = None


class CredentialCreate(Struct, frozen=True, kw_only=True):
    auth: OauthCreate | BearerCreate | VariableCreate
    display_name: DisplayName | None = None
    metadata: dict[str, str] | None = None


class CredentialUpdate(Struct, frozen=True, kw_only=True):
    """Omitted fields stay as they are. The server or the variable's name cannot be changed."""

    auth: OauthUpdate | BearerUpdate | VariableUpdate | UnsetType | None = UNSET
    display_name: DisplayName | UnsetType | None = UNSET
    metadata: dict[str, str | None] | UnsetType | None = UNSET


class EndpointAuth(Struct, frozen=True, kw_only=True):
    """The way in which the client authenticates to the token endpoint."""

    type: str


class Refresh(Struct, frozen=True, kw_only=True, omit_defaults=True):
    token_endpoint: str
    client_id: str
    token_endpoint_auth: EndpointAuth
    resource: str | None = None
    scope: str | None = None


class Oauth(Struct, frozen=True, kw_only=True, tag="mcp_oauth"):
    mcp_server_url: str
    expires_at: str | None
    refresh: Refresh | None


class Bearer(Struct, frozen=True, kw_only=True, tag="static_bearer"):
    mcp_server_url: str


class Injection(Struct, frozen=True, kw_only=True):
    body: bool
    header: bool


class Variable(Struct, frozen=True, kw_only=True, tag="environment_variable"):
    secret_name: str
    networking: Reach
    injection_location: Injection


Auth: TypeAlias = Oauth | Bearer | Variable


class CredentialBody(Struct, frozen=True, kw_only=True):
    auth: Auth
    display_name: str | None
    metadata: dict[str, str]


class Credential(CredentialBody, frozen=True, kw_only=True, tag="vault_credential"):
    id: str
    vault_id: str
    created_at: str
    updated_at: str
    archived_at: str | None


class Secrets(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The sealed part. `value` is the token, the access token or the variable's value."""

    value: str
    refresh_token: str | None = None
    client_secret: str | None = None


class HttpAnswer(Struct, frozen=True, kw_only=True):
    status_code: int
    content_type: str
    body: str
    body_truncated: bool


class Probe(Struct, frozen=True, kw_only=True):
    """The response of an MCP server to a request with the credential."""

    method: str
    http_response: HttpAnswer | None


class RefreshOutcome(Struct, frozen=True, kw_only=True):
    """`status`: succeeded, failed, connect_error or no_refresh_token."""

    status: str
    http_response: HttpAnswer | None


class Validation(Struct, frozen=True, kw_only=True, tag="vault_credential_validation"):
    """`status`: valid, invalid or unknown."""

    credential_id: str
    vault_id: str
    status: str
    has_refresh_token: bool
    mcp_probe: Probe | None
    refresh: RefreshOutcome | None
    validated_at: str
