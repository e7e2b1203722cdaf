"""Which events of a session a reader asks for."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct


class EventsRequest(Struct, frozen=True, kw_only=True):
    """`after` is the last sequence seen; times are RFC 3339."""

    after: int = 0
    limit: int = 1000
    types: Sequence[str] = ()
    order: Literal["asc", "desc"] = "asc"
    since: int | None = None
    until: int | None = None
    raw: bool = False
    text: str = ""
