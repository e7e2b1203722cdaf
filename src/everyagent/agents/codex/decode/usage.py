"""What requests and turns used: Codex counts over the whole life of each thread, so each is a difference. Pure."""

from everyagent.agents.codex.protocol.wire import Tokens, TokenUsage
from everyagent.model.usage import Usage


class Meter:
    """`running`: a turn is, so what is counted from now on is its own."""

    def __init__(self) -> None:
        self.running = False
        self._before: dict[str, Usage] = {}
        self._now: dict[str, Usage] = {}

    def read(self, thread: str, usage: TokenUsage) -> Usage | None:
        """What the request took that has just ended; nothing, if it is a count that was told before."""
        total, before = _usage(usage.total), self._now.get(thread)
        if thread not in self._before:
            # The first count of a resumed thread holds its past, too.
            self._before[thread] = _less(total, _usage(usage.last)) if self.running else total
        self._now[thread] = total
        used = _less(total, before or self._before[thread])
        return used if self.running and used != Usage() else None

    def take(self) -> Usage | None:
        """What was used since the last call, by all threads together."""
        used = Usage()
        for thread, total in self._now.items():
            used += _less(total, self._before[thread])
            self._before[thread] = total
        return used if used != Usage() else None


def _usage(tokens: Tokens) -> Usage:
    fresh = tokens.input_tokens - tokens.cached_input_tokens - tokens.cache_write_input_tokens
    return Usage(
        input_tokens=max(0, fresh),
        output_tokens=tokens.output_tokens,
        cache_read_tokens=tokens.cached_input_tokens,
        cache_write_tokens=tokens.cache_write_input_tokens,
        reasoning_tokens=tokens.reasoning_output_tokens,
    )


def _less(total: Usage, part: Usage) -> Usage:
    return Usage(
        input_tokens=max(0, total.input_tokens - part.input_tokens),
        output_tokens=max(0, total.output_tokens - part.output_tokens),
        cache_read_tokens=max(0, total.cache_read_tokens - part.cache_read_tokens),
        cache_write_tokens=max(0, total.cache_write_tokens - part.cache_write_tokens),
        reasoning_tokens=max(0, total.reasoning_tokens - part.reasoning_tokens),
    )
