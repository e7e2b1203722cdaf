"""Throughput of one flood to many SSE readers."""

from bench.figure import Figure, Standard
from bench.flood import Flooded
from bench.machine import load_average
from bench.plan import Plan
from bench.served import served

STANDARD = Standard(bar=1_000_000, goal=3_000_000, best="high")
READERS = (100, 1_000)
#: A core that is this busy is full; one that is less busy waited for the other.
FULL = 0.93


def measure(plan: Plan) -> list[Figure]:
    """Runs alternate, so that other load on the machine affects both."""
    floods: dict[int, list[Flooded]] = {readers: [] for readers in READERS}
    for repeat in range(plan.repeats):
        for readers, done in floods.items():
            with served() as daemon:
                events = plan.deliveries // readers
                done.append(Flooded(daemon, f"fan-out-{repeat}", events, readers, plan.limit))
    return [_figure(readers, done) for readers, done in floods.items()]


def _figure(readers: int, floods: list[Flooded]) -> Figure:
    last = floods[-1]
    busy, rate, cost = last.busy, last.bytes / last.seconds, last.busy.daemon / last.deliveries
    waited = busy.daemon < FULL * busy.seconds <= busy.load
    return Figure(
        what=f"fan-out to {readers:,} readers",
        unit="deliveries/s",
        samples=[flood.deliveries / flood.seconds for flood in floods],
        load=load_average(),
        standard=STANDARD,
        note=f"{busy}, {rate / 1e6:,.0f} MB/s, {1e6 * cost:.2f} µs each"
        + (": the load client is the limit" if waited else ""),
    )
