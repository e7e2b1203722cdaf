"""PostgreSQL against SQLite, and two nodes of a cluster with NATS: what a reader on the other node gets, and when."""

import asyncio
import shutil
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp

from bench.figure import Figure, Standard
from bench.flood import Flooded
from bench.latency import percentile, round_of
from bench.machine import load_average, resident_bytes
from bench.memory import SETTLE_SECONDS
from bench.plan import Plan
from bench.served import Served, served
from everyagent.clock import SystemClock
from everyagent.dev_cluster.nats import NatsServer
from everyagent.dev_cluster.postgres import PostgresServer
from everyagent.log.postgres import PostgresLog
from everyagent.testing.log_rules.samples import grow, new_session

FLOOD = Standard(bar=0.25, goal=0.5, best="high")
COMMITS = Standard(bar=15_000, goal=40_000, best="high")
P50 = Standard(bar=3, goal=1, best="low")
P99 = Standard(bar=25, goal=10, best="low")
DELIVERIES = Standard(bar=500_000, goal=2_000_000, best="high")
MEMORY = Standard(bar=80, goal=60, best="low")
READERS = 100
WRITERS = 64
EVENTS_EACH = 4
#: Each takes some seconds.
REPEATS = 2


def measure(plan: Plan) -> list[Figure]:
    repeats = min(REPEATS, plan.repeats)
    with _servers() as (postgres, nats):
        flags = postgres.flags
        commits = [asyncio.run(_commits(postgres.url, plan.flood_events)) for _ in range(repeats)]
        floods = [_flood_ratio(plan, flags, repeat) for repeat in range(repeats)]
        with served(*flags, *nats.flags, "--cluster") as owner:
            time.sleep(SETTLE_SECONDS)
            memory = resident_bytes(owner.pid) / 1e6
            key = owner.folder / "data" / "vault.key"
            with served(*flags, *nats.flags, "--cluster", vault_key=key) as other:
                deliveries = [_deliveries(plan, owner, other, repeat) for repeat in range(repeats)]
                here = round_of(owner, owner, "here", plan)
                there = round_of(owner, other, "there", plan)
    load = load_average()
    return [
        Figure(
            what="PostgreSQL against SQLite, flood to one reader",
            unit="times",
            samples=floods,
            load=load,
            standard=FLOOD,
        ),
        Figure(
            what=f"events into PostgreSQL, {WRITERS} sessions, group commit",
            unit="events/s",
            samples=commits,
            load=load,
            standard=COMMITS,
        ),
        *(
            Figure(
                what=f"latency added for a reader on another node, {name}",
                unit="ms",
                samples=[percentile(there, share) - percentile(here, share)],
                load=load,
                standard=standard,
                note=f"{percentile(there, share):.1f} ms in all",
            )
            for name, share, standard in (("p50", 0.50, P50), ("p99", 0.99, P99))
        ),
        Figure(
            what=f"fan-out to {READERS} readers on another node",
            unit="deliveries/s",
            samples=deliveries,
            load=load,
            standard=DELIVERIES,
        ),
        Figure(what="memory of a node after the start", unit="MB", samples=[memory], load=load, standard=MEMORY),
    ]


@contextmanager
def _servers() -> Generator[tuple[PostgresServer, NatsServer]]:
    """With commits that wait for the disk."""
    with ExitStack() as at_the_end:
        folder = Path(mkdtemp(prefix="everyagent-bench-", dir="/tmp"))
        at_the_end.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o711)
        for name in ("postgres", "nats"):
            (folder / name).mkdir()
        postgres, nats = PostgresServer(folder / "postgres"), NatsServer(folder / "nats")
        for server in (postgres, nats):
            at_the_end.callback(server.stop)
            server.start()
        yield postgres, nats


def _flood_ratio(plan: Plan, flags: Sequence[str], repeat: int) -> float:
    rates: list[float] = []
    for chosen in (flags, ()):
        with served(*chosen) as daemon:
            flood = Flooded(daemon, f"flood-{repeat}", plan.flood_events, readers=1, limit=plan.limit)
            rates.append(flood.events / flood.seconds)
    return rates[0] / rates[1]


def _deliveries(plan: Plan, owner: Served, other: Served, repeat: int) -> float:
    session_id, events = f"fan-out-{repeat}", plan.deliveries // READERS
    flood = Flooded(owner, session_id, events, READERS, plan.limit, reader=other)
    return flood.deliveries / flood.seconds


async def _commits(url: str, count: int) -> float:
    """Appends of many sessions at once, in this process."""
    folder = Path(mkdtemp(prefix="everyagent-bench-"))
    log = await PostgresLog.open(url, folder, SystemClock())
    try:
        sessions = [await new_session(log, f"commits-{time.time_ns()}-{number}") for number in range(WRITERS)]

        async def write(number: int) -> None:
            head = 1
            for _ in range(count // WRITERS // EVENTS_EACH):
                head = await grow(log, sessions[number], head, EVENTS_EACH, size=300)

        began = time.perf_counter()
        await asyncio.gather(*(write(number) for number in range(WRITERS)))
        return count / (time.perf_counter() - began)
    finally:
        await log.close()
        shutil.rmtree(folder, ignore_errors=True)
