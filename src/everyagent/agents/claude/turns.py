"""Decodes the end of a turn: its reason, usage and cost. Pure; used by `decode.py`."""

from everyagent.agents.claude import failures, wire
from everyagent.model.events import Error, StopReason, TurnEnded
from everyagent.model.usage import Usage, tokens

_BY_SUBTYPE: dict[str, StopReason] = {"error_max_turns": "max_turns", "error_max_budget_usd": "budget"}
_BY_MODEL: dict[str, StopReason] = {"max_tokens": "max_tokens", "refusal": "refusal"}
_DIAGNOSTIC = "[ede_diagnostic]"
_LOST = "No conversation found with session ID"


def lost_history(frame: wire.ClaudeResult) -> bool:
    """True if the native session to resume is gone. The process then ends by itself."""
    return frame.is_error and any(error.startswith(_LOST) for error in frame.errors)


def ended(frame: wire.ClaudeResult, earlier: float) -> TurnEnded:
    """`earlier` is the cost that was reported for this process's earlier turns."""
    reason = _reason(frame)
    return TurnEnded(
        turn_id="",
        stop_reason=reason,
        usage=_usage(frame),
        cost_usd=_cost(frame, earlier),
        error=complaint(frame) if reason not in ("end_turn", "interrupted") and frame.is_error else None,
    )


def error(frame: wire.ClaudeResult) -> Error:
    """The error of a failed turn, if no frame reported it before."""
    if frame.terminal_reason == "prompt_too_long":
        return failures.failure(complaint(frame), "context_exceeded", frame.api_error_status)
    text = complaint(frame)
    return failures.failure(
        text, failures.code_of(frame.api_error, frame.api_error_status, text), frame.api_error_status
    )


def complaint(frame: wire.ClaudeResult) -> str:
    texts = [frame.result, *frame.errors]
    words = [each for each in texts if each and not each.startswith(_DIAGNOSTIC)]
    return "\n".join(words) or "The agent ended the turn without an answer that could be read."


def _reason(frame: wire.ClaudeResult) -> StopReason:
    if (frame.terminal_reason or "").startswith("aborted"):
        return "interrupted"
    if frame.api_error == "max_output_tokens":
        return "max_tokens"
    if frame.is_error:
        return _BY_SUBTYPE.get(frame.subtype, "error")
    return _BY_MODEL.get(frame.stop_reason or "", "end_turn")


def _usage(frame: wire.ClaudeResult) -> Usage | None:
    models = frame.model_usage_since_last_result
    if models:
        total = Usage()
        for each in models.values():
            total += Usage(
                input_tokens=each.inputTokens,
                output_tokens=each.outputTokens,
                cache_read_tokens=each.cacheReadInputTokens,
                cache_write_tokens=each.cacheCreationInputTokens,
                reasoning_tokens=each.thinkingTokens,
            )
        return total
    return used(frame.usage) if frame.usage else None


def used(usage: wire.ClaudeUsage) -> Usage:
    details = usage.output_tokens_details
    return Usage(
        input_tokens=tokens(usage.input_tokens),
        output_tokens=tokens(usage.output_tokens),
        cache_read_tokens=tokens(usage.cache_read_input_tokens),
        cache_write_tokens=tokens(usage.cache_creation_input_tokens),
        reasoning_tokens=tokens(details.thinking_tokens) if details else 0,
    )


def _cost(frame: wire.ClaudeResult, earlier: float) -> float:
    models = frame.model_usage_since_last_result
    if models is not None:
        return round(sum((each.costUSD for each in models.values()), 0.0), 9)
    return round(max(0.0, frame.total_cost_usd - earlier), 9)
