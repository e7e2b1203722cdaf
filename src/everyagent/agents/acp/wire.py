"""Messages of the Agent Client Protocol, version 1: JSON-RPC 2.0, one message a line. Decode only.

Only fields that are used are declared, and all of them have defaults: agents leave out required ones.
"""

from typing import TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

Id: TypeAlias = int | str | None
NULL = Raw(b"null")


class AcpError(Struct, frozen=True):
    code: int = 0
    message: str = ""
    data: Raw = NULL


class AcpHead(Struct, frozen=True, gc=False):
    """A request has `method` and `id`, a notification `method`, an answer to us `id`."""

    method: str | None = None
    id: Id | UnsetType = UNSET
    params: Raw = NULL
    result: Raw = NULL
    error: AcpError | None = None


# -- session/update --------------------------------------------------------------------------------------------


class AcpContent(Struct, frozen=True, gc=False, rename="camel"):
    """A content block; `type` determines which fields are used."""

    type: str = ""
    text: str = ""
    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    name: str | None = None
    resource: "AcpResource | None" = None


class AcpResource(Struct, frozen=True, rename="camel"):
    uri: str = ""
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class ChunkUpdate(Struct, frozen=True, gc=False, rename="camel"):
    """A streamed piece of a message or a thought: by far the most frequent update."""

    session_update: str
    content: AcpContent
    message_id: str | None = None
    meta: Raw = field(default=NULL, name="_meta")


class ChunkParams(Struct, frozen=True, gc=False):
    update: ChunkUpdate


class ChunkMessage(Struct, frozen=True, gc=False):
    params: ChunkParams


class UpdateHead(Struct, frozen=True, rename="camel"):
    session_update: str = ""


class UpdateParams(Struct, frozen=True, rename="camel"):
    update: Raw
    session_id: str = ""


def quick_name(body: bytes) -> bytes:
    """The name of an update, by its usual place in the line; empty if it is not found there."""
    at = body.find(b'"sessionUpdate":', 0, 400)
    if at < 0:
        return b""
    start = body.find(b'"', at + 16) + 1
    return body[start : body.find(b'"', start)]


class CallContent(Struct, frozen=True, rename="camel"):
    """Part of a tool call's content: a content block, a diff, or a terminal."""

    type: str = ""
    content: AcpContent | None = None
    path: str = ""
    old_text: str | None = None
    new_text: str = ""
    terminal_id: str = ""


class AcpLocation(Struct, frozen=True):
    path: str = ""


class AcpToolCall(Struct, frozen=True, rename="camel"):
    """`tool_call`, `tool_call_update`, and the call in a permission request. Absent fields keep their value."""

    tool_call_id: str = ""
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: list[CallContent] | None = None
    locations: list[AcpLocation] | None = None
    raw_input: Raw = NULL
    raw_output: Raw = NULL
    meta: Raw = field(default=NULL, name="_meta")


class PlanEntry(Struct, frozen=True):
    content: str = ""
    status: str = ""


class AcpPlan(Struct, frozen=True):
    entries: list[PlanEntry] = []


class AcpCommand(Struct, frozen=True):
    name: str = ""
    description: str | None = None


class Commands(Struct, frozen=True, rename="camel"):
    available_commands: list[AcpCommand] = []


class ModeUpdate(Struct, frozen=True, rename="camel"):
    current_mode_id: str = ""


class AcpSessionInfo(Struct, frozen=True):
    title: str | None = None


class AcpCost(Struct, frozen=True):
    amount: float = 0.0
    currency: str = ""


class ContextUsage(Struct, frozen=True):
    used: int = 0
    size: int = 0
    cost: AcpCost | None = None


# -- the agent's offers ----------------------------------------------------------------------------------------


class AcpMode(Struct, frozen=True):
    id: str
    name: str = ""
    description: str | None = None


class AcpModes(Struct, frozen=True, rename="camel"):
    available_modes: list[AcpMode] = []
    current_mode_id: str = ""


class AcpModel(Struct, frozen=True, rename="camel"):
    model_id: str
    name: str | None = None


class AcpModels(Struct, frozen=True, rename="camel"):
    available_models: list[AcpModel] = []
    current_model_id: str = ""


class OptionValue(Struct, frozen=True):
    """A value, or a group of values, which has `options`."""

    value: str = ""
    name: str = ""
    description: str | None = None
    options: list["OptionValue"] = []


class ConfigOption(Struct, frozen=True, rename="camel"):
    """A setting of the session. A boolean option has no `options`."""

    id: str
    name: str = ""
    category: str | None = None
    current_value: str | bool | None = None
    options: list[OptionValue] = []


class ConfigOptions(Struct, frozen=True, rename="camel"):
    config_options: list[ConfigOption] = []


class SessionOpened(Struct, frozen=True, rename="camel"):
    """The result of `session/new`, `session/load` and `session/resume`; `session_id` is only in the first."""

    session_id: str = ""
    modes: AcpModes | None = None
    models: AcpModels | None = None
    config_options: list[ConfigOption] | None = None


class AuthMethod(Struct, frozen=True):
    id: str = ""
    name: str = ""
    description: str | None = None


class PromptCapabilities(Struct, frozen=True, rename="camel"):
    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class McpCapabilities(Struct, frozen=True):
    http: bool = False
    sse: bool = False


class SessionCapabilities(Struct, frozen=True):
    resume: dict[str, object] | None = None
    close: dict[str, object] | None = None


class AgentCapabilities(Struct, frozen=True, rename="camel"):
    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()
    session_capabilities: SessionCapabilities = SessionCapabilities()


class AcpAgentInfo(Struct, frozen=True):
    name: str = ""
    title: str | None = None
    version: str | None = None


class AcpInitialized(Struct, frozen=True, rename="camel"):
    protocol_version: int = 0
    agent_capabilities: AgentCapabilities = AgentCapabilities()
    agent_info: AcpAgentInfo | None = None
    auth_methods: list[AuthMethod] = []


# -- the end of a turn -----------------------------------------------------------------------------------------


class AcpUsage(Struct, frozen=True, rename="camel"):
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class QuotaTokens(Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0


class Quota(Struct, frozen=True):
    token_count: QuotaTokens | None = None


class ResultMeta(Struct, frozen=True):
    quota: Quota | None = None


class PromptResult(Struct, frozen=True, rename="camel"):
    stop_reason: str = "end_turn"
    usage: AcpUsage | None = None
    meta: ResultMeta | None = field(default=None, name="_meta")


# -- requests of the agent -------------------------------------------------------------------------------------


class PermissionOption(Struct, frozen=True, rename="camel"):
    option_id: str
    name: str = ""
    kind: str = ""


class PermissionParams(Struct, frozen=True, rename="camel"):
    tool_call: AcpToolCall = AcpToolCall()
    options: list[PermissionOption] = []


class FormChoice(Struct, frozen=True):
    const: str | int | float | bool | None = None
    title: str | None = None
    description: str | None = None


class FormItems(Struct, frozen=True, rename="camel"):
    any_of: list[FormChoice] = []
    one_of: list[FormChoice] = []
    enum: list[str | int | float | bool] = []


class FormProperty(Struct, frozen=True, rename="camel"):
    type: str | None = None
    title: str | None = None
    description: str | None = None
    one_of: list[FormChoice] = []
    enum: list[str | int | float | bool] = []
    items: FormItems | None = None


class AcpFormSchema(Struct, frozen=True):
    properties: dict[str, FormProperty] = {}


class AcpElicitation(Struct, frozen=True, rename="camel"):
    message: str = ""
    mode: str = "form"
    url: str | None = None
    tool_call_id: str | None = None
    requested_schema: AcpFormSchema | None = None


class CancelRequest(Struct, frozen=True, rename="camel"):
    request_id: Id


class ReadFile(Struct, frozen=True):
    path: str
    line: int | None = None
    limit: int | None = None


class WriteFile(Struct, frozen=True):
    path: str
    content: str


class AcpVariable(Struct, frozen=True):
    name: str
    value: str


class CreateTerminal(Struct, frozen=True, rename="camel"):
    command: str
    args: list[str] = []
    env: list[AcpVariable] = []
    cwd: str | None = None
    output_byte_limit: int | None = None


class OnTerminal(Struct, frozen=True, rename="camel"):
    terminal_id: str
