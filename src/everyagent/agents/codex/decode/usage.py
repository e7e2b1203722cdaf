"""Usage of requests and turns: differences of the counts that Codex keeps for the life of each thread. Pure."""

from everyagent.agents.codex.decode.subagents import REMEMBERED
from everyagent.agents.codex.protocol.wire import CodexTokens, TokenUsage
from everyagent.agents.memory import remember
from everyagent.model.usage import Usage
from everyagent.model.usage import tokens as within_bounds


class TokenMeter:
    """`running`: a turn runs, and is charged for what is counted from now on."""

    def __init__(self) -> None:
        self.running = False
        self._before: dict[str, Usage] = {}
        self._now: dict[str, Usage] = {}

    def read(self, thread: str, usage: TokenUsage) -> Usage | None:
        """The usage of the request that has just ended; None if the count is repeated."""
        total, before = _usage(usage.total), self._now.get(thread)
        if thread not in self._before:
            # The first count of a resumed thread includes its past.
            before_turn = _less(total, _usage(usage.last)) if self.running else total
            remember(self._before, thread, before_turn, REMEMBERED)
        remember(self._now, thread, total, REMEMBERED)
        used = _less(total, before or self._before[thread])
        return used if self.running and used != Usage() else None

    def take(self) -> Usage | None:
        """The usage of all threads since the last call."""
        used = Usage()
        for thread, total in self._now.items():
            used += _less(total, self._before.get(thread, total))
            self._before[thread] = total
        return used if used != Usage() else None


def _usage(tokens: CodexTokens) -> Usage:
    fresh = tokens.input_tokens - tokens.cached_input_tokens - tokens.cache_write_input_tokens
    return Usage(
        input_tokens=within_bounds(fresh),
        output_tokens=within_bounds(tokens.output_tokens),
        cache_read_tokens=within_bounds(tokens.cached_input_tokens),
        cache_write_tokens=within_bounds(tokens.cache_write_input_tokens),
        reasoning_tokens=within_bounds(tokens.reasoning_output_tokens),
    )


def _less(total: Usage, part: Usage) -> Usage:
    return Usage(
        input_tokens=max(0, total.input_tokens - part.input_tokens),
        output_tokens=max(0, total.output_tokens - part.output_tokens),
        cache_read_tokens=max(0, total.cache_read_tokens - part.cache_read_tokens),
        cache_write_tokens=max(0, total.cache_write_tokens - part.cache_write_tokens),
        reasoning_tokens=max(0, total.reasoning_tokens - part.reasoning_tokens),
    )
