"""The same flood through everyagent, through sandbox-agent, and through a loop without a schema, alternating."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from bench import bare_loop
from bench.figure import Figure, Standard, Unmeasured
from bench.flood import SIZE, Flooded
from bench.machine import cores, load_average, on_core, resident_bytes
from bench.peer import VERSION, PeerFlood, peer, program
from bench.plan import Plan
from bench.readers import Marks, Readers
from bench.served import Server, folder, served
from bench.start import Started
from everyagent.runtime.ports import free_port

#: Ours against the peer's, by the number of readers.
STANDARDS = {
    1: Standard(bar=1.0, goal=1.5, best="high"),
    10: Standard(bar=5, goal=10, best="high"),
    100: Standard(bar=15, goal=25, best="high"),
    1_000: Standard(bar=20, goal=40, best="high"),
}
BARE = Standard(bar=0.4, goal=0.7, best="high")
START = Standard(bar=150, goal=100, best="low")
MEMORY = Standard(bar=38, goal=30, best="low")
BARE_MARKS = Marks(b"event: message\ndata: ", b"data: the end\n\n")


def measure(plan: Plan) -> list[Figure]:
    path = program()
    figures: list[Figure] = []
    for readers, standard in STANDARDS.items():
        figures += _floods(path, readers, standard, plan)
    return [*figures, _bare(plan), *_at_rest(path, plan)]


def _floods(path: Path, readers: int, standard: Standard, plan: Plan) -> list[Figure]:
    ours: list[Flooded] = []
    theirs: list[PeerFlood] = []
    events = min(plan.flood_events, plan.deliveries // readers)
    peers_events = max(1_000, min(events, plan.deliveries // 10 // readers))  # it takes far longer for as many
    for repeat in range(plan.repeats):
        with served() as daemon:
            ours.append(Flooded(daemon, f"peers-{repeat}", events, readers, plan.limit))
        with peer(path) as other:
            theirs.append(other.flood(f"peers-{repeat}", peers_events, readers, plan.limit))
    rates = [flood.deliveries / flood.seconds for flood in ours]
    peers = [flood.deliveries / flood.seconds for flood in theirs]
    lost = median(flood.lost for flood in theirs)
    cost, peers_cost = (1e6 * median(f.busy.daemon / f.deliveries for f in floods) for floods in (ours, theirs))
    return [
        Figure(
            what=f"deliveries/s to {readers:,} readers against sandbox-agent {VERSION}",
            unit="times",
            samples=[mine / other for mine, other in zip(rates, peers, strict=True)],
            load=load_average(),
            standard=standard,
            note=f"{median(rates):,.0f}/s, none lost; {median(peers):,.0f}/s, {lost:.0%} lost; "
            f"CPU {cost:.2f} and {peers_cost:.2f} µs each; most memory {median(f.peak for f in ours) / 1e6:.0f} and "
            f"{median(f.peak for f in theirs) / 1e6:.0f} MB",
        )
    ]


def _bare(plan: Plan) -> Figure:
    """One reader, as many bytes for each event as the daemon sends."""
    rates: list[float] = []
    bare: list[float] = []
    for repeat in range(plan.repeats):
        with served() as daemon:
            flood = Flooded(daemon, f"bare-{repeat}", plan.flood_events, 1, plan.limit)
        rates.append(flood.events / flood.seconds)
        bare.append(_bare_rate(plan.flood_events, flood.bytes // flood.events, plan.limit))
    return Figure(
        what="events/s to one reader against a loop that reads, commits and writes as many bytes",
        unit="times",
        samples=[mine / least for mine, least in zip(rates, bare, strict=True)],
        load=load_average(),
        standard=BARE,
        note=f"{median(rates):,.0f}/s and {median(bare):,.0f}/s",
    )


def _bare_rate(events: int, length: int, limit: float) -> float:
    with folder() as path:
        port = free_port()
        words = [str(path / "bare.db"), *map(str, (port, events, SIZE, length, cores().load))]
        with on_core(cores().daemon):
            process = subprocess.Popen([sys.executable, bare_loop.__file__, *words])
        try:
            with on_core(cores().load):
                return events / _bare_seconds(Server(process.pid, f"http://127.0.0.1:{port}"), events, limit)
        finally:
            process.kill()
            process.wait()


def _bare_seconds(server: Server, events: int, limit: float) -> float:
    readers = Readers(server, "/", BARE_MARKS)
    deadline = time.monotonic() + limit
    try:
        while not readers.all:
            try:
                readers.open(1)
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        began = time.perf_counter()
        readers.drain(limit)
        if readers.all[0].events != events:
            raise Unmeasured(f"the loop sent {readers.all[0].events:,} lines, not {events:,}")
        return time.perf_counter() - began
    finally:
        readers.close()


def _at_rest(path: Path, plan: Plan) -> list[Figure]:
    starts: list[float] = []
    peers_starts: list[float] = []
    memory: list[float] = []
    peers_memory: list[float] = []
    with folder() as data:
        for repeat in range(plan.starts):
            with Started(data / str(repeat)) as daemon:
                starts.append(1000 * daemon.seconds)
                memory.append(resident_bytes(daemon.pid) / 1e6)
            with peer(path) as other:
                peers_starts.append(1000 * other.seconds)
                peers_memory.append(resident_bytes(other.pid) / 1e6)
    load = load_average()
    return [
        Figure(
            what="start to the first answer",
            unit="ms",
            samples=starts,
            load=load,
            standard=START,
            note=f"sandbox-agent {median(peers_starts):.0f} ms",
        ),
        Figure(
            what="memory after the start",
            unit="MB",
            samples=memory,
            load=load,
            standard=MEMORY,
            note=f"sandbox-agent {median(peers_memory):.0f} MB",
        ),
    ]
