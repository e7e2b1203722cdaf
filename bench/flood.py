"""Throughput from native lines over the commit to one SSE reader, with the daemon on one core."""

from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average, peak_bytes
from bench.plan import Plan
from bench.readers import Readers, reading
from bench.served import Busy, Served, served

STANDARD = Standard(bar=20_000, goal=50_000, best="high")
SIZE = 200


class Flooded:
    """One flood of a session: the events of its readers and the CPU time."""

    def __init__(
        self,
        daemon: Served,
        session_id: str,
        events: int,
        readers: int,
        limit: float,
        *,
        reader: Served | None = None,
        types: str = "",
    ) -> None:
        """`reader` is another node at which it is read. `types` is the readers' filter."""
        head = daemon.warm(session_id)
        with reading(reader or daemon, session_id, head, readers, types) as opened:
            self.busy = Busy(daemon)
            daemon.client.send(session_id, f"[flood events={events} size={SIZE}]")
            self.bytes = opened.drain(limit)
            self.busy.stop()
        self.seconds = self.busy.seconds
        self.peak = peak_bytes(daemon.pid)
        self.events = daemon.idle(session_id) - head
        self.deliveries = _checked(opened, daemon.events(session_id, head, types) if types else self.events)
        daemon.client.terminate(session_id)


def _checked(readers: Readers, events: int) -> int:
    """Checks that each reader received every event once."""
    wrong = [reader.events for reader in readers.all if reader.events != events]
    if wrong:
        raise Unmeasured(f"{len(wrong)} readers got {wrong[0]:,} events or some other number, not {events:,}")
    return events * len(readers.all)


def measure(plan: Plan) -> list[Figure]:
    with served() as daemon:
        floods = [
            Flooded(daemon, f"flood-{repeat}", plan.flood_events, readers=1, limit=plan.limit)
            for repeat in range(plan.repeats)
        ]
    load = load_average()
    return [
        Figure(
            what="native line -> committed -> one SSE reader",
            unit="events/s",
            samples=[flood.events / flood.seconds for flood in floods],
            load=load,
            standard=STANDARD,
            note=str(floods[-1].busy),
        ),
        Figure(
            what="the daemon's time for each of them",
            unit="µs",
            samples=[1e6 * flood.busy.daemon / flood.events for flood in floods],
            load=load,
        ),
    ]
