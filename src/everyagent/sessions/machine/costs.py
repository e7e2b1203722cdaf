"""Computes the usage and cost of requests and turns that the agent did not report.

One for each live session; its transactions use it.
"""

from msgspec import UNSET
from msgspec.structs import replace

from everyagent.model.events import EventData, ModelResponded, SessionUpdated, TurnEnded, TurnStarted
from everyagent.model.prices import Prices
from everyagent.model.usage import Usage


class Costs:
    """`_cost` is None when the cost of a request of the turn is unknown."""

    __slots__ = ("_agent", "_answering", "_cost", "_model", "_priced", "_prices", "_requests", "_used")

    def __init__(self, prices: Prices, agent: str, model: str | None) -> None:
        self._prices = prices
        self._agent = agent
        self._model = model
        self._answering: str | None = None
        self._reset()

    def _reset(self) -> None:
        self._used = Usage()
        self._cost: float | None = None
        self._requests = 0
        self._priced = False

    @property
    def model(self) -> str:
        """The model of the turn's last request that no sub-agent made, else the session's; empty if none is known."""
        return self._answering or self._model or ""

    @property
    def running(self) -> tuple[float, Usage]:
        """The cost and usage of the running turn so far, as far as they are known."""
        return self._cost or 0.0, self._used

    def completed(self, data: EventData) -> EventData:
        """The event with its usage and cost, as far as they can be known."""
        match data:
            case TurnStarted():
                self._answering = None
                self._reset()
            case ModelResponded():
                return self._response(data)
            case TurnEnded():
                ended = self._turn(data)
                self._reset()
                return ended
            case SessionUpdated() if data.model is not UNSET:
                self._model = data.model
            case _:
                pass
        return data

    def _response(self, data: ModelResponded) -> ModelResponded:
        if data.cost_usd is None and (cost := self._price(data.model, data.usage)) is not None:
            data = replace(data, cost_usd=cost, priced=True)
        if data.subagent is None:
            self._answering = data.model or self._answering
        known = data.cost_usd is not None and (self._cost is not None or not self._requests)
        self._cost = (self._cost or 0.0) + (data.cost_usd or 0.0) if known else None
        self._used += data.usage
        self._requests += 1
        self._priced = self._priced or data.priced
        return data

    def _turn(self, data: TurnEnded) -> TurnEnded:
        if data.usage is None and self._requests:
            data = replace(data, usage=self._used)
        if data.cost_usd is None and self._cost is not None:
            data = replace(data, cost_usd=round(self._cost, 9), priced=self._priced)
        elif data.cost_usd is None and data.usage and not self._requests:
            cost = self._price(None, data.usage)
            data = replace(data, cost_usd=cost, priced=cost is not None)
        return data

    def _price(self, model: str | None, usage: Usage) -> float | None:
        return self._prices.cost(model or self._model or self._agent, usage)
