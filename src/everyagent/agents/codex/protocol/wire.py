"""Types of the app-server's messages, as far as we read them: decode only, optional fields have defaults.

The names are Codex's own; `docs/agents/codex.md` lists the events that each message becomes.
"""

from typing import Any

from msgspec import Raw, Struct, field

from everyagent.model.parts import Json

Id = int | str


class CodexWire(Struct, frozen=True, rename="camel", gc=False):
    """Native names are camelCase."""


# -- any message ------------------------------------------------------------------------------------------------


class ThreadRef(CodexWire, frozen=True):
    id: str = ""


class ItemRef(CodexWire, frozen=True):
    """The fields that name a sub-agent's thread."""

    agent_thread_id: str | None = None
    receiver_thread_ids: list[str] = []


class RpcHeadParams(CodexWire, frozen=True):
    thread_id: str | None = None
    conversation_id: str | None = None
    thread: ThreadRef | None = None
    item: ItemRef | None = None


class RpcHead(CodexWire, frozen=True):
    """The fields that give a message's type and session."""

    method: str | None = None
    id: Id | None = None
    params: RpcHeadParams | None = None
    result: RpcHeadParams | None = None


class RpcName(CodexWire, frozen=True):
    method: str | None = None
    id: Id | None = None


class CodexResponse(CodexWire, frozen=True):
    """`error` is an object with a message, as a rule."""

    id: Id
    result: Raw = Raw(b"null")
    error: Any = None


def error_message(error: object) -> str:
    match error:
        case {"message": str() as message}:
            return message
        case _:
            return str(error)


# -- answers to what we ask ---------------------------------------------------------------------------------------


class ThreadInfo(CodexWire, frozen=True):
    """`path` is where Codex keeps its record."""

    id: str = ""
    path: str | None = None


class ThreadNotice(CodexWire, frozen=True):
    thread: ThreadRef


class CollaborationMode(CodexWire, frozen=True):
    mode: str = ""


class ThreadOpened(CodexWire, frozen=True):
    """Answer to `thread/start` and `thread/resume`."""

    thread: ThreadInfo
    model: str = ""
    reasoning_effort: str | None = None
    sandbox: Json = None
    collaboration_mode: CollaborationMode | None = None


class CodexConfig(Struct, frozen=True):
    """The user's configuration, whose names are not camelCase."""

    model: str | None = None
    model_reasoning_effort: str | None = None


class Configured(CodexWire, frozen=True):
    """Answer to `config/read`."""

    config: CodexConfig


class TurnRef(CodexWire, frozen=True):
    id: str = ""


class TurnBegun(CodexWire, frozen=True):
    turn: TurnRef


class Effort(CodexWire, frozen=True):
    reasoning_effort: str = ""


class CodexModel(CodexWire, frozen=True):
    id: str
    display_name: str | None = None
    is_default: bool = False
    hidden: bool = False
    default_reasoning_effort: str | None = None
    supported_reasoning_efforts: list[Effort] = []


class CodexModelList(CodexWire, frozen=True):
    data: list[CodexModel] = []
    next_cursor: str | None = None


# -- notifications ----------------------------------------------------------------------------------------------


class CodexDelta(CodexWire, frozen=True):
    """Any `…Delta`, and progress of an MCP tool, whose text is its `message`."""

    thread_id: str = ""
    item_id: str = ""
    delta: str = ""
    message: str = ""
    summary_index: int = 0
    content_index: int = 0
    stdin: str = ""


class FileChange(CodexWire, frozen=True):
    path: str
    diff: str = ""
    kind: "ChangeKind" = field(default_factory=lambda: ChangeKind())


class ChangeKind(CodexWire, frozen=True):
    type: str = "update"
    move_path: str | None = field(default=None, name="move_path")


class ErrorMessage(CodexWire, frozen=True):
    message: str = ""


class McpResult(CodexWire, frozen=True):
    content: list[dict[str, Any]] = []
    structured_content: Any = None


class CommandAction(CodexWire, frozen=True):
    type: str = ""
    path: str | None = None


class CodexItem(CodexWire, frozen=True):
    """Every item type's fields in one: a type uses those it has."""

    type: str
    id: str = ""
    status: str | None = None
    text: str = ""
    phase: str | None = None
    content: list[Any] = []
    summary: list[str] = []
    command: str = ""
    cwd: str | None = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    command_actions: list[CommandAction] = []
    changes: list[FileChange] = []
    server: str = ""
    tool: str = ""
    namespace: str | None = None
    name: str = ""
    arguments: Raw = Raw(b"{}")
    result: Any = None
    error: ErrorMessage | None = None
    content_items: list[dict[str, Any]] | None = None
    success: bool | None = None
    prompt: str | None = None
    model: str | None = None
    receiver_thread_ids: list[str] = []
    agents_states: Any = None
    kind: str = ""
    agent_thread_id: str = ""
    agent_path: str = ""
    query: str = ""
    action: Any = None
    results: Any = None
    path: str = ""
    review: str = ""
    revised_prompt: str | None = None
    saved_path: str | None = None
    output: Any = None
    fragments: list[dict[str, Any]] = []


class UserPart(CodexWire, frozen=True):
    text: str = ""


class ItemNotice(CodexWire, frozen=True):
    item: CodexItem
    thread_id: str = ""
    turn_id: str = ""


class ModelItem(CodexWire, frozen=True):
    """Input or output of the model, as in its API: these names have underscores."""

    type: str = ""
    call_id: str = field(default="", name="call_id")
    name: str = ""
    namespace: str | None = None
    arguments: str = ""
    input: str = ""
    output: Any = None


class ModelItemNotice(CodexWire, frozen=True):
    item: ModelItem
    thread_id: str = ""


class TurnFailure(CodexWire, frozen=True):
    message: str = ""
    codex_error_info: Any = None
    additional_details: str | None = None


class CodexTurn(CodexWire, frozen=True):
    id: str
    status: str = ""
    error: TurnFailure | None = None


class TurnNotice(CodexWire, frozen=True):
    turn: CodexTurn
    thread_id: str = ""


class CodexErrorNotice(CodexWire, frozen=True):
    error: TurnFailure
    will_retry: bool = False
    thread_id: str = ""
    turn_id: str = ""


class CodexTokens(CodexWire, frozen=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0


class TokenUsage(CodexWire, frozen=True):
    total: CodexTokens
    last: CodexTokens = CodexTokens()


class UsageNotice(CodexWire, frozen=True):
    token_usage: TokenUsage
    thread_id: str = ""


class ThreadSettings(CodexWire, frozen=True):
    model: str


class SettingsNotice(CodexWire, frozen=True):
    thread_settings: ThreadSettings
    thread_id: str = ""


class PlanStep(CodexWire, frozen=True):
    step: str
    status: str = ""


class PlanNotice(CodexWire, frozen=True):
    plan: list[PlanStep] = []
    explanation: str | None = None
    thread_id: str = ""
    turn_id: str = ""


class DiffNotice(CodexWire, frozen=True):
    diff: str = ""
    thread_id: str = ""


class Resolved(CodexWire, frozen=True):
    request_id: Id


class Window(CodexWire, frozen=True):
    used_percent: float = 0
    window_duration_mins: int | None = None
    resets_at: int | None = None


class RateLimits(CodexWire, frozen=True):
    limit_name: str | None = None
    primary: Window | None = None
    secondary: Window | None = None
    rate_limit_reached_type: str | None = None


class LimitsNotice(CodexWire, frozen=True):
    rate_limits: RateLimits


class CodexNotice(CodexWire, frozen=True):
    """A message about Codex itself, in one of these fields."""

    thread_id: str | None = None
    message: str = ""
    summary: str = ""
    details: str | None = None
    name: str = ""
    status: str = ""
    error: str | None = None
    thread_name: str | None = None
    from_model: str = ""
    to_model: str = ""
    reason: str | None = None
    provider: str = ""


class HookRun(CodexWire, frozen=True):
    id: str
    event_name: str = ""
    status: str = ""
    status_message: str | None = None
    source: str = ""


class HookMetadata(CodexWire, frozen=True):
    event_name: str = ""
    source: str = ""
    enabled: bool = False
    trust_status: str = ""


class HooksEntry(CodexWire, frozen=True):
    hooks: list[HookMetadata] = []


class Hooks(CodexWire, frozen=True):
    data: list[HooksEntry] = []


class HookNotice(CodexWire, frozen=True):
    run: HookRun


class Review(CodexWire, frozen=True):
    status: str = ""
    rationale: str | None = None


class ReviewNotice(CodexWire, frozen=True):
    review_id: str
    review: Review
    target_item_id: str | None = None


class Goal(CodexWire, frozen=True):
    objective: str = ""
    status: str = ""


class GoalNotice(CodexWire, frozen=True):
    goal: Goal
