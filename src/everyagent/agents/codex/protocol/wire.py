"""Types of the app-server's messages, as far as we read them: decode only, optional fields have defaults.

The names are Codex's own; `docs/agents/codex.md` lists the events that each message becomes.
"""

from typing import Any

from msgspec import Raw, Struct

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
