"""Claude Code's native messages: one JSON object a line, named by `type` and `subtype`. Decode only.

Only fields that are used are declared, and optional ones have defaults."""

from typing import Any, TypeAlias

from msgspec import Raw, Struct

ClaudeContent: TypeAlias = "str | list[ClaudeBlock]"


class ClaudeFrame(Struct, frozen=True, kw_only=True, gc=False):
    """`parent_tool_use_id` in subclasses is the call that started the sending sub-agent; None for the agent itself."""

    uuid: str = ""
    session_id: str = ""


class ClaudeHead(Struct, frozen=True, gc=False):
    type: str
    subtype: str | None = None


# -- streamed messages -------------------------------------------------------------------------


class DeltaBody(Struct, frozen=True, gc=False):
    type: str
    text: str = ""
    thinking: str = ""
    partial_json: str = ""


class DeltaEvent(Struct, frozen=True, gc=False):
    delta: DeltaBody
    index: int = 0


class StreamDelta(Struct, frozen=True, gc=False):
    """A `stream_event` with a `content_block_delta`: by far the most frequent frame."""

    event: DeltaEvent
    parent_tool_use_id: str | None = None
    api_message_id: str | None = None


class ImageSource(Struct, frozen=True):
    type: str = ""
    media_type: str | None = None
    data: str | None = None
    url: str | None = None


class ClaudeBlock(Struct, frozen=True, omit_defaults=True):
    """Any content block; `type` determines which fields are used."""

    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Raw = Raw(b"{}")
    tool_use_id: str = ""
    content: Raw = Raw(b"null")
    is_error: bool | None = None
    source: ImageSource | None = None


class OutputDetails(Struct, frozen=True):
    thinking_tokens: int = 0


class ClaudeUsage(Struct, frozen=True):
    """Tokens of one request, or of a whole turn without its sub-agents."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: OutputDetails | None = None


class ClaudeMessage(Struct, frozen=True):
    content: ClaudeContent = ""
    id: str = ""
    model: str | None = None
    usage: ClaudeUsage | None = None


class StreamBody(Struct, frozen=True):
    type: str
    index: int = 0
    content_block: ClaudeBlock | None = None
    message: ClaudeMessage | None = None
    usage: ClaudeUsage | None = None


class StreamEvent(ClaudeFrame, frozen=True, kw_only=True):
    event: StreamBody
    parent_tool_use_id: str | None = None
    api_message_id: str | None = None


class ClaudeAssistant(ClaudeFrame, frozen=True, kw_only=True):
    """A finished block of a message, or a whole message that the agent itself wrote."""

    message: ClaudeMessage
    parent_tool_use_id: str | None = None
    error: str | None = None
    is_api_error_message: bool = False
    api_error: str | None = None
    api_error_status: int | None = None
    aborted: bool = False


class ClaudeUser(ClaudeFrame, frozen=True, kw_only=True):
    message: ClaudeMessage
    parent_tool_use_id: str | None = None
    tool_use_result: Raw = Raw(b"null")
    isReplay: bool = False
    isSynthetic: bool = False


# -- structured results of the agent's own tools ----------------------------------------------------------------


class Hunk(Struct, frozen=True):
    oldStart: int
    oldLines: int
    newStart: int
    newLines: int
    lines: list[str]


class PathInput(Struct, frozen=True):
    file_path: str | None = None
    notebook_path: str | None = None


class Structured(Struct, frozen=True):
    filePath: str | None = None
    structuredPatch: list[Hunk] | None = None
    originalFile: str | None = None
    content: Any = None
    interrupted: bool = False
    backgroundTaskId: str | None = None
    stderr: str = ""


class Spent(Struct, frozen=True):
    """The duration of a tool call, if its result has it."""

    totalDurationMs: float | None = None
    durationMs: float | None = None


class ClaudeTodo(Struct, frozen=True):
    content: str
    status: str = "pending"


class TodoInput(Struct, frozen=True):
    todos: list[ClaudeTodo]


class PlanInput(Struct, frozen=True):
    plan: str | None = None


# -- the agent's own state ----------------------------------------------------------------------------


class ClaudeInit(ClaudeFrame, frozen=True, kw_only=True):
    permissionMode: str | None = None


class ClaudeStatus(ClaudeFrame, frozen=True, kw_only=True):
    status: str | None = None
    permissionMode: str | None = None


class ApiRetry(ClaudeFrame, frozen=True, kw_only=True):
    attempt: int
    max_retries: int | None = None
    retry_delay_ms: float = 0
    error_status: int | None = None
    error: str = "unknown"


class CompactMetadata(Struct, frozen=True):
    trigger: str = "auto"
    pre_tokens: int | None = None
    post_tokens: int | None = None


class CompactBoundary(ClaudeFrame, frozen=True, kw_only=True):
    compact_metadata: CompactMetadata = CompactMetadata()


class PermissionDenied(ClaudeFrame, frozen=True, kw_only=True):
    tool_name: str
    message: str = ""


class ClaudeTask(ClaudeFrame, frozen=True, kw_only=True):
    """The common fields of all frames about background tasks and sub-agents."""

    task_id: str
    tool_use_id: str | None = None
    description: str | None = None
    status: str | None = None
    summary: str | None = None


class ClaudeHook(ClaudeFrame, frozen=True, kw_only=True):
    hook_id: str
    hook_name: str = "hook"
    output: str | None = None
    exit_code: int | None = None
    outcome: str | None = None


class ClaudeNotice(ClaudeFrame, frozen=True, kw_only=True):
    """A frame whose content is a sentence for the user."""

    content: str | None = None
    text: str | None = None
    summary: str | None = None
    error: str | None = None


class TitleChanged(ClaudeFrame, frozen=True, kw_only=True):
    title: str | None = None


class ConversationReset(ClaudeFrame, frozen=True, kw_only=True):
    trigger: str = "clear"


class RateLimitInfo(Struct, frozen=True):
    status: str = "allowed"
    resetsAt: float | None = None
    rateLimitType: str | None = None
    utilization: float | None = None


class RateLimit(ClaudeFrame, frozen=True, kw_only=True):
    rate_limit_info: RateLimitInfo = RateLimitInfo()


class AuthStatus(ClaudeFrame, frozen=True, kw_only=True):
    error: str | None = None


# -- the end of a turn ----------------------------------------------------------------------------------------------


class ClaudeModelUsage(Struct, frozen=True):
    """Usage of one model, sub-agents included."""

    inputTokens: int = 0
    outputTokens: int = 0
    cacheReadInputTokens: int = 0
    cacheCreationInputTokens: int = 0
    thinkingTokens: int = 0
    costUSD: float = 0.0


class ResultOrigin(Struct, frozen=True):
    kind: str | None = None


class ClaudeResult(ClaudeFrame, frozen=True, kw_only=True):
    """The end of a turn. `total_cost_usd` is that of the native session since its beginning, over all its processes."""

    subtype: str
    is_error: bool = False
    result: str = ""
    errors: list[str] = []
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error: str | None = None
    api_error_status: int | None = None
    usage: ClaudeUsage | None = None
    total_cost_usd: float = 0.0
    model_usage_since_last_result: dict[str, ClaudeModelUsage] | None = None
    origin: ResultOrigin | None = None
    user_message_uuids: list[str] = []
