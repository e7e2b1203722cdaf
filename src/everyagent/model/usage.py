"""Token counts of a turn or a session, and the fields by which they are summed."""

from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

UsageField: TypeAlias = Literal["day", "session", "agent", "model", "workspace", "key", "directory"]

#: Larger counts are nonsense of an agent, and would be too large for floats, SQLite and most readers of JSON.
MOST_TOKENS = 2**53 - 1


def tokens(count: int | None) -> int:
    """A count as an agent reports it, within bounds."""
    if not count or count < 0:
        return 0
    return count if count <= MOST_TOKENS else MOST_TOKENS


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one turn, or summed over a session. `input_tokens` excludes cached tokens."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def in_words(self) -> str:
        """All tokens, and what they are: `1,120 (700 in, 70 out, 350 cached)`. The inspector has the same count."""
        cached = self.cache_read_tokens + self.cache_write_tokens
        parts = ((self.input_tokens, "in"), (self.output_tokens, "out"), (cached, "cached"))
        total = self.input_tokens + self.output_tokens + cached
        return f"{total:,} ({', '.join(f'{count:,} {what}' for count, what in parts if count)})" if total else ""

    def __add__(self, other: "Usage") -> "Usage":
        total = Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )
        if (
            total.input_tokens > MOST_TOKENS
            or total.output_tokens > MOST_TOKENS
            or total.cache_read_tokens > MOST_TOKENS
            or total.cache_write_tokens > MOST_TOKENS
            or total.reasoning_tokens > MOST_TOKENS
        ):
            return Usage(**{name: tokens(count) for name, count in asdict(total).items()})
        return total


class UsageSum(Struct, frozen=True, kw_only=True, rename="camel"):
    """The usage and cost of turns. `waitedSeconds` is the time in which people were waited for.

    The fields by which it was asked for are set: a `day` in UTC, a `keyId` that is empty for what no key paid, a
    `model` that is empty if none is known. `sessionId` and `directory` are null for all deleted sessions together.
    """

    day: str | UnsetType = UNSET
    session_id: str | UnsetType | None = UNSET
    title: str | UnsetType | None = UNSET
    agent: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    workspace: str | UnsetType = UNSET
    key_id: str | UnsetType = UNSET
    directory: str | UnsetType | None = UNSET
    sessions: int
    turns: int
    usage: Usage
    cost_usd: float
    waited_seconds: float


class UsageReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """`total` covers all sums, also those that the `limit` left out; `more` says that there are such."""

    sums: list[UsageSum]
    total: UsageSum
    more: bool
