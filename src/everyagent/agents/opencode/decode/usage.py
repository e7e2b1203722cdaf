"""Usage and cost of a turn: the sum of the steps that the model has ended. Pure."""

from everyagent.agents.opencode.protocol.wire import OpencodePart
from everyagent.model.usage import Usage
from everyagent.model.usage import tokens as within_bounds


class StepMeter:
    """Each step is counted once, although updates repeat it."""

    def __init__(self) -> None:
        self._counted: set[str] = set()
        self._used = Usage()
        self._cost = 0.0

    def read(self, step: OpencodePart) -> Usage | None:
        """The usage of the step, unless it was counted before."""
        if step.id in self._counted or step.tokens is None:
            return None
        self._counted.add(step.id)
        tokens = step.tokens
        self._cost += step.cost
        used = Usage(
            input_tokens=within_bounds(tokens.input),
            output_tokens=within_bounds(tokens.output + tokens.reasoning),
            cache_read_tokens=within_bounds(tokens.cache.read),
            cache_write_tokens=within_bounds(tokens.cache.write),
            reasoning_tokens=within_bounds(tokens.reasoning),
        )
        self._used += used
        return used

    def take(self) -> tuple[Usage | None, float | None]:
        """Usage and cost since the last call."""
        used, cost = self._used, self._cost
        self._counted, self._used, self._cost = set(), Usage(), 0.0
        return (used if used != Usage() else None), (cost or None)
