"""Claude Code's control channel: permission requests, hooks, questions, forms and answers to us. Decode only."""

from typing import Any

from msgspec import Raw, Struct


class McpServerName(Struct, frozen=True):
    name: str | None = None


class CanUseTool(Struct, frozen=True):
    tool_name: str
    input: Raw
    tool_use_id: str = ""
    description: str | None = None
    permission_suggestions: list[Any] | None = None
    blocked_path: str | None = None
    decision_reason: str | None = None
    mcp_server: McpServerName | None = None
    agent_id: str | None = None


class HookInput(Struct, frozen=True):
    tool_name: str = ""
    tool_input: Raw = Raw(b"{}")


class HookCallback(Struct, frozen=True):
    """The hook before a tool call, by which policies are enforced."""

    callback_id: str
    input: HookInput


class AskedOption(Struct, frozen=True):
    label: str
    description: str | None = None


class AskedQuestion(Struct, frozen=True):
    question: str
    header: str | None = None
    options: list[AskedOption] = []
    multiSelect: bool = False


class QuestionInput(Struct, frozen=True):
    questions: list[AskedQuestion]


class ClaudeFormProperty(Struct, frozen=True):
    type: str | None = None
    title: str | None = None
    description: str | None = None
    enum: list[Any] | None = None
    enumNames: list[str] | None = None


class ClaudeFormSchema(Struct, frozen=True):
    properties: dict[str, ClaudeFormProperty] = {}


class ClaudeElicitation(Struct, frozen=True):
    """A question of an MCP server to the user: to fill in a form, or to open an address."""

    message: str
    mcp_server_name: str = ""
    mode: str | None = None
    url: str | None = None
    requested_schema: ClaudeFormSchema | None = None
    property_order: list[str] | None = None


class Subtype(Struct, frozen=True):
    subtype: str


class ControlRequest(Struct, frozen=True):
    request_id: str
    request: Raw


class ControlCancel(Struct, frozen=True):
    request_id: str


class ControlReply(Struct, frozen=True):
    subtype: str
    request_id: str
    response: Raw = Raw(b"{}")
    error: str | None = None
    error_code: str | None = None


class ControlResponse(Struct, frozen=True):
    response: ControlReply


class InterruptReceipt(Struct, frozen=True):
    """The response to an interrupt: the queued messages that it withdrew."""

    cancelled: list[str] = []


class SlashCommand(Struct, frozen=True):
    name: str = ""
    description: str | None = None


class OfferedCommands(Struct, frozen=True):
    """The part of the response to `initialize` that says which slash commands there are."""

    commands: list[SlashCommand] = []


class ClaudeModel(Struct, frozen=True, rename="camel"):
    value: str
    display_name: str | None = None
    resolved_model: str | None = None
    supported_effort_levels: list[str] = []


class Initialized(Struct, frozen=True):
    models: list[ClaudeModel] = []
