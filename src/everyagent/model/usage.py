"""Token counts of a turn or a session."""

from msgspec import Struct

#: Larger counts are nonsense of an agent, and would be too large for floats, SQLite and most readers of JSON.
MOST_TOKENS = 2**53 - 1


def tokens(count: int | None) -> int:
    """A count as an agent reports it, within bounds."""
    return min(max(count or 0, 0), MOST_TOKENS)


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one turn, or summed over a session. `input_tokens` excludes cached tokens."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=tokens(self.input_tokens + other.input_tokens),
            output_tokens=tokens(self.output_tokens + other.output_tokens),
            cache_read_tokens=tokens(self.cache_read_tokens + other.cache_read_tokens),
            cache_write_tokens=tokens(self.cache_write_tokens + other.cache_write_tokens),
            reasoning_tokens=tokens(self.reasoning_tokens + other.reasoning_tokens),
        )
