"""The body that creates a session, with the fields of sandbox-agent beside our own, and its translation into ours."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from everyagent.model.sessions import CreateSession
from everyagent.model.tools import McpLocal, McpRemote, McpServer


class McpLocalRequest(
    Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True, tag="local"
):
    """An MCP server that the agent starts. `args` follow the command."""

    command: str | list[str]
    args: list[str] = []
    env: dict[str, str] | None = None
    cwd: str | None = None
    enabled: bool | None = True
    timeout_ms: int | None = None


class McpStdioRequest(McpLocalRequest, frozen=True, kw_only=True, tag="stdio"):
    """Another name of `local`."""


class McpOAuth(Struct, frozen=True, kw_only=True, rename="camel"):
    client_id: str | None = None
    client_secret: str | None = None
    scope: str | None = None


class McpRemoteRequest(
    Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True, tag="remote"
):
    """An MCP server that the agent connects to over HTTP.

    `bearerTokenEnvVar` and the values of `envHeaders` name variables of `env` or `secrets`, whose values are sent as
    headers. `oauth` is accepted for compatibility and has no effect: nobody can sign in for an agent of the daemon.
    """

    url: str
    headers: dict[str, str] | None = None
    bearer_token_env_var: str | None = None
    env_headers: dict[str, str] | None = None
    oauth: McpOAuth | bool | None = None
    transport: Literal["http", "sse"] | None = "http"
    enabled: bool | None = True
    timeout_ms: int | None = None


class McpHttpRequest(McpRemoteRequest, frozen=True, kw_only=True, tag="http"):
    """Another name of `remote`."""


class SkillSource(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`source` is `owner/repository`, the URL of a git repository, or an absolute path, by its `type`.

    `skills` are the names of those to take; without it, all. `ref` is a branch, a tag or a commit.
    """

    type: Literal["github", "git", "local"]
    source: Annotated[str, Meta(min_length=1, max_length=2048)]
    skills: list[str] | None = None
    ref: str | None = None
    subpath: str | None = None


class Skills(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Skills that are copied into the session's directory, where its agent finds them."""

    sources: Annotated[list[SkillSource], Meta(max_length=64)]


McpServerRequest: TypeAlias = McpLocalRequest | McpStdioRequest | McpRemoteRequest | McpHttpRequest


class CreateSessionRequest(
    CreateSession, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """`agentVersion` is accepted for compatibility and has no effect: the operator chooses the versions of agents."""

    __doc__ = f"{CreateSession.__doc__}\n{__doc__}"

    mcp: dict[str, McpServerRequest] | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    agent_version: str | None = None
    skills: Skills | None = None


def translated(request: CreateSessionRequest, warnings: list[str]) -> CreateSession:
    """The request in our own fields. Fields without effect are added to the warnings."""
    if request.agent_version is not None:
        warnings.append("agentVersion has no effect: the session's agent has the version that is installed")
    fields: dict[str, object] = {name: getattr(request, name) for name in CreateSession.__struct_fields__}
    variables = {**request.env, **request.secrets}
    fields["mcp"] = {name: _server(name, each, variables, warnings) for name, each in (request.mcp or {}).items()}
    return CreateSession(**fields)  # pyright: ignore[reportArgumentType]


def _server(name: str, server: McpServerRequest, variables: Mapping[str, str], warnings: list[str]) -> McpServer:
    enabled = server.enabled is not False
    if isinstance(server, McpLocalRequest):
        command = [server.command] if isinstance(server.command, str) else server.command
        return McpLocal(
            command=[*command, *server.args],
            env=server.env or {},
            cwd=server.cwd,
            enabled=enabled,
            timeout_ms=server.timeout_ms,
        )
    if server.oauth:
        warnings.append(f"mcp.{name}.oauth has no effect: send a token in `headers`")
    headers = dict(server.headers or {})
    given = {header.lower() for header in headers}
    for header, variable, prefix in _from_variables(server):
        if variable not in variables:
            warnings.append(f"mcp.{name}: {variable} is not in `env` or `secrets`, so {header} is not sent")
        elif header.lower() not in given:
            headers[header] = prefix + variables[variable]
    return McpRemote(
        url=server.url,
        headers=headers,
        transport=server.transport or "http",
        enabled=enabled,
        timeout_ms=server.timeout_ms,
    )


def _from_variables(server: McpRemoteRequest) -> Iterator[tuple[str, str, str]]:
    """Headers whose values are variables: the header, the variable, and what comes before its value."""
    for header, variable in (server.env_headers or {}).items():
        yield header, variable, ""
    if server.bearer_token_env_var:
        yield "Authorization", server.bearer_token_env_var, "Bearer "
