"""What the app-server says, as far as we read it: decode only, every field that may be missing has a default.

The names are Codex's own; `docs/agents/codex.md` says what becomes of each message.
"""

from typing import Any

from msgspec import Raw, Struct, field

from everyagent.model.parts import Json

Id = int | str


class Wire(Struct, frozen=True, rename="camel", gc=False):
    """Native names are camelCase."""


# -- any message ------------------------------------------------------------------------------------------------


class ThreadRef(Wire, frozen=True):
    id: str = ""


class ItemRef(Wire, frozen=True):
    """Only what names the thread of a sub-agent."""

    agent_thread_id: str | None = None
    receiver_thread_ids: list[str] = []


class HeadParams(Wire, frozen=True):
    thread_id: str | None = None
    conversation_id: str | None = None
    thread: ThreadRef | None = None
    item: ItemRef | None = None


class Head(Wire, frozen=True):
    """Enough to know what kind of message it is and whose."""

    method: str | None = None
    id: Id | None = None
    params: HeadParams | None = None
    result: HeadParams | None = None


class Name(Wire, frozen=True):
    method: str | None = None
    id: Id | None = None


class RpcError(Wire, frozen=True):
    code: int = 0
    message: str = ""


class Response(Wire, frozen=True):
    id: Id
    result: Raw = Raw(b"null")
    error: RpcError | None = None


# -- answers to what we ask ---------------------------------------------------------------------------------------


class ThreadInfo(Wire, frozen=True):
    """`path` is where Codex keeps its record."""

    id: str = ""
    path: str | None = None


class CollaborationMode(Wire, frozen=True):
    mode: str = ""


class ThreadOpened(Wire, frozen=True):
    """Answer to `thread/start` and `thread/resume`."""

    thread: ThreadInfo
    model: str = ""
    reasoning_effort: str | None = None
    sandbox: Json = None
    collaboration_mode: CollaborationMode | None = None


class Config(Struct, frozen=True):
    """The user's configuration, whose names are not camelCase."""

    model: str | None = None
    model_reasoning_effort: str | None = None


class Configured(Wire, frozen=True):
    """Answer to `config/read`."""

    config: Config


class TurnRef(Wire, frozen=True):
    id: str = ""


class TurnBegun(Wire, frozen=True):
    turn: TurnRef


class Effort(Wire, frozen=True):
    reasoning_effort: str = ""


class ModelInfo(Wire, frozen=True):
    id: str
    display_name: str | None = None
    is_default: bool = False
    hidden: bool = False
    default_reasoning_effort: str | None = None
    supported_reasoning_efforts: list[Effort] = []


class Models(Wire, frozen=True):
    data: list[ModelInfo] = []
    next_cursor: str | None = None


# -- notifications ----------------------------------------------------------------------------------------------


class Delta(Wire, frozen=True):
    """Any `…Delta`, and progress of an MCP tool, whose text is its `message`."""

    thread_id: str = ""
    item_id: str = ""
    delta: str = ""
    message: str = ""
    summary_index: int = 0
    content_index: int = 0
    stdin: str = ""


class Change(Wire, frozen=True):
    path: str
    diff: str = ""
    kind: "ChangeKind" = field(default_factory=lambda: ChangeKind())


class ChangeKind(Wire, frozen=True):
    type: str = "update"
    move_path: str | None = field(default=None, name="move_path")


class ErrorMessage(Wire, frozen=True):
    message: str = ""


class McpResult(Wire, frozen=True):
    content: list[dict[str, Any]] = []
    structured_content: Any = None


class Item(Wire, frozen=True):
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
    changes: list[Change] = []
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


class UserPart(Wire, frozen=True):
    text: str = ""


class ItemNotice(Wire, frozen=True):
    item: Item
    thread_id: str = ""
    turn_id: str = ""


class ModelItem(Wire, frozen=True):
    """What the model itself put out or was given, as its API has it: here the names have underscores."""

    type: str = ""
    call_id: str = field(default="", name="call_id")
    name: str = ""
    arguments: str = ""
    input: str = ""
    output: Any = None


class ModelItemNotice(Wire, frozen=True):
    item: ModelItem
    thread_id: str = ""


class TurnFailure(Wire, frozen=True):
    message: str = ""
    codex_error_info: Any = None
    additional_details: str | None = None


class Turn(Wire, frozen=True):
    id: str
    status: str = ""
    error: TurnFailure | None = None


class TurnNotice(Wire, frozen=True):
    turn: Turn
    thread_id: str = ""


class ErrorNotice(Wire, frozen=True):
    error: TurnFailure
    will_retry: bool = False
    thread_id: str = ""
    turn_id: str = ""


class Tokens(Wire, frozen=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0


class TokenUsage(Wire, frozen=True):
    total: Tokens
    last: Tokens = Tokens()


class UsageNotice(Wire, frozen=True):
    token_usage: TokenUsage
    thread_id: str = ""


class ThreadSettings(Wire, frozen=True):
    model: str


class SettingsNotice(Wire, frozen=True):
    thread_settings: ThreadSettings
    thread_id: str = ""


class PlanStep(Wire, frozen=True):
    step: str
    status: str = ""


class PlanNotice(Wire, frozen=True):
    plan: list[PlanStep] = []
    explanation: str | None = None
    thread_id: str = ""
    turn_id: str = ""


class DiffNotice(Wire, frozen=True):
    diff: str = ""
    thread_id: str = ""


class Resolved(Wire, frozen=True):
    request_id: Id


class Window(Wire, frozen=True):
    used_percent: float = 0
    window_duration_mins: int | None = None
    resets_at: int | None = None


class Limits(Wire, frozen=True):
    limit_name: str | None = None
    primary: Window | None = None
    secondary: Window | None = None
    rate_limit_reached_type: str | None = None


class LimitsNotice(Wire, frozen=True):
    rate_limits: Limits


class Notice(Wire, frozen=True):
    """Any sentence Codex says about itself, under one of these names."""

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


class HookRun(Wire, frozen=True):
    id: str
    event_name: str = ""
    status: str = ""
    status_message: str | None = None
    source: str = ""


class HookMetadata(Wire, frozen=True):
    event_name: str = ""
    source: str = ""
    enabled: bool = False
    trust_status: str = ""


class HooksEntry(Wire, frozen=True):
    hooks: list[HookMetadata] = []


class Hooks(Wire, frozen=True):
    data: list[HooksEntry] = []


class HookNotice(Wire, frozen=True):
    run: HookRun


class Review(Wire, frozen=True):
    status: str = ""
    rationale: str | None = None


class ReviewNotice(Wire, frozen=True):
    review_id: str
    review: Review
    target_item_id: str | None = None


class Goal(Wire, frozen=True):
    objective: str = ""
    status: str = ""


class GoalNotice(Wire, frozen=True):
    goal: Goal
