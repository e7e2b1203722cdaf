"""Decodes the end of a turn: its reason and its usage. Pure; used by `decode.py`."""

from typing import Literal, TypeAlias

from everyagent.agents.acp import wire
from everyagent.agents.acp.profile import UsageScope
from everyagent.model.events import StopReason
from everyagent.model.usage import Usage, tokens

ChunkKind: TypeAlias = Literal["text", "reasoning"]

_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "cancelled": "interrupted",
    "max_tokens": "max_tokens",
    "max_turn_requests": "max_turns",
    "refusal": "refusal",
}


def reason(stop_reason: str) -> StopReason:
    return _REASONS.get(stop_reason, "end_turn")


def used(usage: wire.AcpUsage) -> Usage:
    """Cached tokens are part of the input for some agents: then input and output add up to the total."""
    given, cached = tokens(usage.input_tokens), tokens(usage.cached_read_tokens)
    out = tokens(usage.output_tokens)
    inclusive = usage.total_tokens is not None and given + out >= usage.total_tokens
    return Usage(
        input_tokens=max(0, given - cached) if inclusive else given,
        output_tokens=out,
        cache_read_tokens=cached,
        cache_write_tokens=tokens(usage.cached_write_tokens),
        reasoning_tokens=tokens(usage.thought_tokens),
    )


class TurnUsage:
    """Computes a turn's usage from reports about a request, a turn, or the whole session so far."""

    def __init__(self, scope: UsageScope) -> None:
        self._scope = scope
        self._requests = Usage()
        self._total = Usage()
        self._cost = 0.0
        self._cost_before = 0.0

    def request(self, usage: Usage) -> None:
        self._requests += usage

    def cost(self, total: float) -> None:
        """The session's cost so far."""
        self._cost = max(self._cost, total)

    def turn(self, result: wire.PromptResult) -> Usage | None:
        requests, self._requests = self._requests, Usage()
        if requests != Usage():
            return requests
        quota = result.meta.quota.token_count if result.meta and result.meta.quota else None
        if quota:
            return Usage(input_tokens=tokens(quota.input_tokens), output_tokens=tokens(quota.output_tokens))
        if result.usage is None:
            return None
        usage = used(result.usage)
        if self._scope != "session":
            return usage
        before, self._total = self._total, usage
        return _difference(usage, before)

    def turn_cost(self) -> float | None:
        """The cost of the turn; None if the agent reports none."""
        spent, self._cost_before = self._cost - self._cost_before, self._cost
        return round(spent, 9) if self._cost else None


def _difference(after: Usage, before: Usage) -> Usage:
    """A resumed agent may begin to count again: then everything is this turn's."""
    if after.input_tokens < before.input_tokens or after.output_tokens < before.output_tokens:
        return after
    return Usage(
        input_tokens=after.input_tokens - before.input_tokens,
        output_tokens=after.output_tokens - before.output_tokens,
        cache_read_tokens=tokens(after.cache_read_tokens - before.cache_read_tokens),
        cache_write_tokens=tokens(after.cache_write_tokens - before.cache_write_tokens),
        reasoning_tokens=tokens(after.reasoning_tokens - before.reasoning_tokens),
    )
