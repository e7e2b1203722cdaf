"""A measured figure with its bar and its goal."""

from statistics import median
from typing import Literal, TypeAlias

from msgspec import Struct

Verdict: TypeAlias = Literal["goal", "ok", "below", ""]


class Standard(Struct, frozen=True, kw_only=True):
    """`bar` must be met, `goal` is wanted. `best` tells whether small or large values are good."""

    bar: float
    goal: float
    best: Literal["high", "low"]

    def verdict(self, value: float) -> Verdict:
        sign = 1 if self.best == "high" else -1
        if sign * value >= sign * self.goal:
            return "goal"
        return "ok" if sign * value >= sign * self.bar else "below"


class Figure(Struct, frozen=True, kw_only=True):
    """`samples` holds one value per repeat. `load` is the machine's load average at the end."""

    what: str
    unit: str
    samples: list[float]
    load: float
    standard: Standard | None = None
    note: str = ""

    @property
    def measured(self) -> float:
        return median(self.samples)

    @property
    def ratio(self) -> float | None:
        return self.measured / self.standard.bar if self.standard else None

    @property
    def verdict(self) -> Verdict:
        return self.standard.verdict(self.measured) if self.standard else ""


class Unmeasured(Exception):
    """The figure could not be measured here, or the delivered data was wrong."""
