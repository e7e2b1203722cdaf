"""The three kinds of credentials: their public and sealed parts, on creation and on update."""

from datetime import datetime

from msgspec import UNSET
from msgspec.structs import replace

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest
from everyagent.managed.resources.pages import micros
from everyagent.managed.resources.vaults.shape import (
    Auth,
    BasicAuthParams,
    Bearer,
    BearerCreate,
    BearerUpdate,
    EndpointAuth,
    EndpointAuthParams,
    Injection,
    InjectionParams,
    NoneAuthParams,
    Oauth,
    OauthCreate,
    OauthUpdate,
    PostAuthParams,
    Refresh,
    RefreshParams,
    RefreshUpdate,
    Secrets,
    Variable,
    VariableCreate,
    VariableUpdate,
)


def key_of(auth: Auth) -> str:
    """A vault has at most one credential for each key."""
    match auth:
        case Variable():
            return f"env {auth.secret_name}"
        case Oauth() | Bearer():
            return f"mcp {auth.mcp_server_url}"


def made(asked: OauthCreate | BearerCreate | VariableCreate) -> tuple[Auth, Secrets]:
    match asked:
        case OauthCreate():
            refresh = asked.refresh
            auth = Oauth(
                mcp_server_url=asked.mcp_server_url,
                expires_at=_moment(asked.expires_at),
                refresh=None if refresh is None else _refresh(refresh),
            )
            return auth, Secrets(
                value=asked.access_token,
                refresh_token=refresh and refresh.refresh_token,
                client_secret=refresh and _client_secret(refresh.token_endpoint_auth),
            )
        case BearerCreate():
            return Bearer(mcp_server_url=asked.mcp_server_url or ""), Secrets(value=asked.token)
        case VariableCreate():
            auth = Variable(
                secret_name=asked.secret_name,
                networking=asked.networking,
                injection_location=_injection(asked.injection_location),
            )
            return auth, Secrets(value=asked.secret_value)


def updated(auth: Auth, secrets: Secrets, asked: OauthUpdate | BearerUpdate | VariableUpdate) -> tuple[Auth, Secrets]:
    match auth, asked:
        case Oauth(), OauthUpdate():
            _refuse_another(asked.mcp_server_url, auth.mcp_server_url, "mcp_server_url")
            return _updated_oauth(auth, secrets, asked)
        case Bearer(), BearerUpdate():
            _refuse_another(asked.mcp_server_url, auth.mcp_server_url, "mcp_server_url")
            return auth, replace(secrets, value=asked.token or secrets.value)
        case Variable(), VariableUpdate():
            _refuse_another(asked.secret_name, auth.secret_name, "secret_name")
            auth = replace(
                auth,
                networking=asked.networking or auth.networking,
                injection_location=_merged_injection(auth.injection_location, asked.injection_location),
            )
            return auth, replace(secrets, value=asked.secret_value or secrets.value)
        case _:
            raise BadRequest("A credential stays of its kind: `auth.type` cannot change.", field="auth.type")


def _refuse_another(asked: str | None, current: str, field: str) -> None:
    if asked is not None and asked != current:
        raise BadRequest(
            f"`{field}` cannot change: it is {current!r}. Create another credential.", field=f"auth.{field}"
        )


def _updated_oauth(auth: Oauth, secrets: Secrets, asked: OauthUpdate) -> tuple[Oauth, Secrets]:
    refresh = auth.refresh
    if asked.refresh is not None:
        if refresh is None:
            raise BadRequest(
                "This credential has no `refresh` to change. Create a new credential with one.", field="auth"
            )
        refresh = _updated_refresh(refresh, asked.refresh)
    changes = asked.refresh or RefreshUpdate()
    endpoint = changes.token_endpoint_auth
    auth = replace(
        auth,
        expires_at=auth.expires_at if asked.expires_at is UNSET else _moment(asked.expires_at),
        refresh=refresh,
    )
    return auth, replace(
        secrets,
        value=asked.access_token or secrets.value,
        refresh_token=changes.refresh_token or secrets.refresh_token,
        client_secret=(endpoint and _client_secret(endpoint)) or secrets.client_secret,
    )


def _updated_refresh(old: Refresh, asked: RefreshUpdate) -> Refresh:
    endpoint = asked.token_endpoint_auth
    return replace(
        old,
        scope=old.scope if asked.scope is UNSET else asked.scope,
        token_endpoint_auth=_endpoint(endpoint) if endpoint else old.token_endpoint_auth,
    )


def _refresh(asked: RefreshParams) -> Refresh:
    endpoint = asked.token_endpoint_auth
    if not isinstance(endpoint, NoneAuthParams) and not endpoint.client_secret:
        raise BadRequest("`token_endpoint_auth` needs its `client_secret`.", field="auth.refresh")
    return Refresh(
        token_endpoint=asked.token_endpoint,
        client_id=asked.client_id,
        token_endpoint_auth=_endpoint(endpoint),
        resource=asked.resource,
        scope=asked.scope,
    )


def _endpoint(asked: EndpointAuthParams) -> EndpointAuth:
    match asked:
        case NoneAuthParams():
            return EndpointAuth(type="none")
        case BasicAuthParams():
            return EndpointAuth(type="client_secret_basic")
        case PostAuthParams():
            return EndpointAuth(type="client_secret_post")


def _client_secret(asked: EndpointAuthParams) -> str | None:
    return None if isinstance(asked, NoneAuthParams) else asked.client_secret


def _injection(asked: InjectionParams | None) -> Injection:
    """Header and body by default."""
    if asked is None:
        return Injection(body=True, header=True)
    return _somewhere(Injection(body=bool(asked.body), header=bool(asked.header)))


def _merged_injection(old: Injection, asked: InjectionParams | None) -> Injection:
    if asked is None:
        return old
    body = old.body if asked.body is None else asked.body
    header = old.header if asked.header is None else asked.header
    return _somewhere(Injection(body=body, header=header))


def _somewhere(injection: Injection) -> Injection:
    if not injection.body and not injection.header:
        raise BadRequest("`injection_location` needs `header` or `body`.", field="auth.injection_location")
    return injection


def _moment(given: datetime | None) -> str | None:
    """Whole seconds stay without a fraction, as clients that compare texts expect."""
    at = micros(given)
    return None if at is None else rfc3339(at).replace(".000000Z", "Z")
