"""Token prices of models, as configured by the operator."""

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from everyagent.model.usage import Usage

Dollars: TypeAlias = Annotated[float, Meta(ge=0, le=1_000_000)]


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars per million tokens. The prices of cached tokens default to `input`."""

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None

    def of(self, usage: Usage) -> float:
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        total = usage.input_tokens * self.input + usage.output_tokens * self.output
        total += usage.cache_read_tokens * read + usage.cache_write_tokens * write
        return round(total / 1_000_000, 9)


class Prices:
    """Prices by model id, as the agent spells it."""

    def __init__(self, by_model: Mapping[str, Price] | None = None) -> None:
        self._by_model = dict(by_model or {})

    def __contains__(self, model: str) -> bool:
        return model in self._by_model

    def cost(self, model: str, usage: Usage) -> float | None:
        price = self._by_model.get(model)
        return price.of(usage) if price else None


UNPRICED = Prices()
