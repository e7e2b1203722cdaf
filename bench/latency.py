"""Latency from an agent's write to an SSE reader, at 1,000 events per second."""

import re
import socket
import time

from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average
from bench.plan import Plan
from bench.served import Served, served

RATE = 1_000
P50 = Standard(bar=1.0, goal=0.5, best="low")
P99 = Standard(bar=15.0, goal=5.0, best="low")
#: A delta that starts with its number and the time when it was written.
_STAMP = re.compile(rb'"delta":"\d{8}(\d{20})')
_STAMP_SIZE = 40


def measure(plan: Plan) -> list[Figure]:
    rounds: list[list[float]] = []
    with served() as daemon:
        for repeat in range(plan.repeats):
            rounds.append(round_of(daemon, daemon, f"latency-{repeat}", plan))
    load = load_average()
    return [
        Figure(
            what=f"added latency at {RATE:,} events/s, {name}",
            unit="ms",
            samples=[percentile(latencies, share) for latencies in rounds],
            load=load,
            standard=standard,
            note=f"worst {max(map(max, rounds)):.1f} ms" if standard is P99 else "",
        )
        for name, share, standard in (("p50", 0.50, P50), ("p99", 0.99, P99))
    ]


def round_of(daemon: Served, reader_of: Served, session_id: str, plan: Plan) -> list[float]:
    """The latency of each event in milliseconds, in order. It is read at `reader_of`."""
    head = daemon.warm(session_id)
    events = plan.latency_seconds * RATE
    latencies: list[float] = []
    with socket.create_connection(reader_of.address, timeout=plan.limit) as reader:
        reader.sendall(reader_of.get(f"/v1/sessions/{session_id}/events/sse?offset={head}"))
        daemon.client.send(session_id, f"[flood events={events} size=200 rate={RATE} stamp=true]")
        deadline, rest = time.monotonic() + plan.latency_seconds + plan.limit, b""
        while len(latencies) < events:
            piece = reader.recv(1 << 20)
            now = time.monotonic_ns()
            if not piece or time.monotonic() > deadline:
                raise Unmeasured(f"only {len(latencies):,} of {events:,} events came")
            rest += piece
            end = 0
            for found in _STAMP.finditer(rest):
                latencies.append((now - int(found[1])) / 1e6)
                end = found.end()
            rest = rest[max(end, len(rest) - _STAMP_SIZE) :]
    daemon.idle(session_id)
    daemon.client.terminate(session_id)
    return latencies


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
