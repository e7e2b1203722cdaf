"""Throughput of one flood to many SSE readers."""

from typing import NamedTuple

from bench.figure import Figure, Standard
from bench.flood import Flooded
from bench.machine import load_average
from bench.plan import Plan
from bench.served import served

STANDARDS = {
    10: Standard(bar=600_000, goal=1_200_000, best="high"),
    100: Standard(bar=1_000_000, goal=3_000_000, best="high"),
    1_000: Standard(bar=1_000_000, goal=3_000_000, best="high"),
}
READERS = tuple(STANDARDS)
MEMORY = Standard(bar=150, goal=100, best="low")
#: A core that is this busy is full; one that is less busy waited for the other.
FULL = 0.93


#: The filter of half of the readers: text alone, and the end of the turn.
FILTER = "item.delta,session.updated"


class Kind(NamedTuple):
    readers: int
    types: str

    def __str__(self) -> str:
        return f"{self.readers:,} {'filtered ' if self.types else ''}readers"


KINDS = [Kind(readers, types) for readers in READERS for types in ("", FILTER)]


def measure(plan: Plan) -> list[Figure]:
    """Runs alternate, so that other load on the machine affects all."""
    floods: dict[Kind, list[Flooded]] = {kind: [] for kind in KINDS}
    for repeat in range(plan.repeats):
        for kind, done in floods.items():
            with served() as daemon:
                events = min(plan.flood_events, plan.deliveries // kind.readers)
                flood = Flooded(daemon, f"fan-out-{repeat}", events, kind.readers, plan.limit, types=kind.types)
                done.append(flood)
    rates = [_rate(kind, done) for kind, done in floods.items()]
    most = KINDS[-1]
    peaks = [flood.peak / 1e6 for flood in floods[most]]
    memory = Figure(what=f"most memory with {most}", unit="MB", samples=peaks, load=load_average(), standard=MEMORY)
    return [*rates, memory]


def _rate(kind: Kind, floods: list[Flooded]) -> Figure:
    last = floods[-1]
    busy, rate, cost = last.busy, last.bytes / last.seconds, last.busy.daemon / last.deliveries
    waited = busy.daemon < FULL * busy.seconds <= busy.load
    return Figure(
        what=f"fan-out to {kind}",
        unit="deliveries/s",
        samples=[flood.deliveries / flood.seconds for flood in floods],
        load=load_average(),
        standard=STANDARDS[kind.readers],
        note=f"{busy}, {rate / 1e6:,.0f} MB/s, {1e6 * cost:.2f} µs each"
        + (": the load client is the limit" if waited else ""),
    )
