"""Sizes and repeats of the full run and of the quick run."""

from msgspec import Struct


class Plan(Struct, frozen=True, kw_only=True):
    """`deliveries` is the sum over all readers of one fan-out; `log_events` is the size of the large log."""

    repeats: int = 5
    flood_events: int = 200_000
    deliveries: int = 10_000_000
    latency_seconds: int = 10
    starts: int = 10
    idle_sessions: int = 2_000
    idle_readers: int = 1_000
    list_seconds: float = 3.0
    log_events: int = 10_000_000
    #: What is not done by then is given up.
    limit: float = 120.0


QUICK = Plan(
    repeats=3,
    flood_events=50_000,
    deliveries=2_000_000,
    latency_seconds=3,
    starts=4,
    idle_sessions=1_000,
    list_seconds=1.0,
    log_events=1_000_000,
    limit=30.0,
)
