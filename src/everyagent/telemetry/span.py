"""A span, before it is handed to the SDK."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from everyagent.model.trace_context import TraceContext

Attribute: TypeAlias = str | bool | int | float | list[str]


class SpanEvent(NamedTuple):
    name: str
    at: int
    attributes: dict[str, Attribute]


class Span(Struct, frozen=True, kw_only=True):
    """Times are in microseconds. `remote`: the parent is a client's span. `error` is the type of a failure."""

    name: str
    context: TraceContext
    parent: TraceContext | None
    start: int
    end: int
    attributes: dict[str, Attribute]
    kind: Literal["internal", "client"] = "internal"
    remote: bool = False
    error: str | None = None
    events: Sequence[SpanEvent] = ()
