"""Requests of an ACP client (an editor), version 1. Decode only; unknown fields are ignored."""

from typing import TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

PROTOCOL_VERSION = 1
Id: TypeAlias = int | str | None
NULL = Raw(b"null")


class RpcFault(Struct, frozen=True):
    code: int = 0
    message: str = ""


class AcpMessage(Struct, frozen=True):
    """A request has `method` and `id`, a notification `method`, an answer to us `id`."""

    method: str | None = None
    id: Id | UnsetType = UNSET
    params: Raw = Raw(b"{}")
    result: Raw = NULL
    error: RpcFault | None = None


class FormSupport(Struct, frozen=True):
    form: dict[str, object] | None = None


class EditorCapabilities(Struct, frozen=True):
    elicitation: FormSupport | None = None


class Initialize(Struct, frozen=True, rename="camel"):
    client_capabilities: EditorCapabilities | None = None


class NameValue(Struct, frozen=True):
    """A variable of an environment, or a header."""

    name: str
    value: str


class OfferedServer(Struct, frozen=True):
    """An MCP server: with `type` a remote one at `url`, else a `command`."""

    name: str
    type: str = "stdio"
    url: str = ""
    headers: list[NameValue] = []
    command: str = ""
    args: list[str] = []
    env: list[NameValue] = []


class OpenSession(Struct, frozen=True, rename="camel"):
    """Parameters of `session/new`, `session/load`, `session/resume` and `session/fork`."""

    cwd: str
    session_id: str = ""
    mcp_servers: list[OfferedServer] | None = None


class OnSession(Struct, frozen=True, rename="camel"):
    session_id: str


class ListSessionsParams(Struct, frozen=True):
    cwd: str | None = None
    cursor: str | None = None


class SetMode(Struct, frozen=True, rename="camel"):
    session_id: str
    mode_id: str


class SetOption(Struct, frozen=True, rename="camel"):
    session_id: str
    config_id: str
    value: str


class Resource(Struct, frozen=True, rename="camel"):
    uri: str = ""
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class ContentBlock(Struct, frozen=True, rename="camel"):
    """`type` determines which fields are used."""

    type: str
    text: str = ""
    data: str = ""
    mime_type: str | None = None
    uri: str = ""
    name: str = ""
    resource: Resource | None = None


class PromptParams(Struct, frozen=True, rename="camel"):
    session_id: str
    prompt: list[ContentBlock]


class Outcome(Struct, frozen=True, rename="camel"):
    outcome: str = "cancelled"
    option_id: str = ""


class PermissionOutcome(Struct, frozen=True):
    outcome: Outcome = Outcome()


class FormOutcome(Struct, frozen=True):
    """`content` is set if `action` is `accept`."""

    action: str = "cancel"
    content: dict[str, str | int | float | bool | list[str] | None] | None = None
