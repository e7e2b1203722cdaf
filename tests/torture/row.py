"""Rows of the torture report: a fault, how often it was injected, and what was measured."""

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct, field


class Outcome(Struct, kw_only=True):
    """`faults` counts injections. `figures` are measurements with their units.

    `partial` says what was not run, `missed` what took longer than it should: such a row did not pass.
    """

    faults: int = 0
    figures: dict[str, str] = field(default_factory=dict[str, str])
    partial: list[str] = field(default_factory=list[str])
    missed: list[str] = field(default_factory=list[str])


class Run(NamedTuple):
    """One run of a row. `step` reports that one more of the announced steps is done."""

    folder: Path
    size: Literal["gate", "full"]
    announce: Callable[[int], None]
    step: Callable[[], None]
    #: On the monotonic clock; a row that reaches it stops early, and says so.
    deadline: float = math.inf

    @property
    def over(self) -> bool:
        return time.monotonic() > self.deadline

    def pick(self, gate: int, full: int) -> int:
        return gate if self.size == "gate" else full


def missed(what: str, seconds: Sequence[float], limit: float) -> list[str]:
    """A line for `Outcome.missed`, if something took longer than its limit."""
    late = sum(each > limit for each in seconds)
    measured = f"{late:,} of {len(seconds):,} took longer, the longest {max(seconds, default=0):.2f} s"
    return [f"{what} within {limit:.0f} s: {measured}"] if late else []


def gate(folder: Path) -> Run:
    """A run in the size of `make test`, without progress."""

    def announce(_steps: int) -> None:
        return

    return Run(folder, "gate", announce, lambda: None)


#: Runs a row. An `AssertionError` is a violation of an invariant.
RowFunction: TypeAlias = Callable[[Run], Awaitable[Outcome]]
