"""Usage by session, day, model and key: what a step adds to it, and queries for its sums."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from everyagent.model.usage import Usage, UsageField

#: Larger counts of one turn are nonsense, and would be too large for the sum of a column.
MOST_COUNTED = 1 << 40
MOST_USD = 1e6
_MICROS_OF_A_DAY = 86_400_000_000


class UsageEntry(Struct, frozen=True, kw_only=True):
    """The usage of an ended turn; or, with `answered`, a wait for a person, whose time the log measures itself.

    `key_id` is the API key that pays; empty for none.
    """

    model: str
    key_id: str
    turns: int = 0
    usage: Usage = Usage()
    cost_usd: float = 0.0
    answered: bool = False


class UsageQuery(Struct, frozen=True, kw_only=True):
    """Sums for each combination of the fields `by`. The days are numbers since 1970, in UTC; `until` is exclusive."""

    by: Sequence[UsageField] = ()
    since: int | None = None
    until: int | None = None
    session_id: str | None = None
    agent: str | None = None
    model: str | None = None
    workspace: str | None = None
    key_id: str | None = None
    directory: str | None = None


class UsageRow(NamedTuple):
    """`fields` are the values of `by`, with None for those of deleted sessions. `waited` is in microseconds.

    `cost` is in billionths of a USD: whole numbers have the same sum in every order, on every database.
    """

    fields: dict[UsageField, str | int | None]
    title: str | None
    sessions: int
    turns: int
    usage: Usage
    cost: int
    waited: int


def day_of(micros: int) -> int:
    return micros // _MICROS_OF_A_DAY
