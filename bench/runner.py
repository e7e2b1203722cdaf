"""What a runner on the same machine adds: latency, throughput, and the time to check a callback."""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bench import latency
from bench.figure import Figure, Standard, Unmeasured
from bench.flood import Flooded
from bench.latency import percentile
from bench.machine import load_average
from bench.plan import Plan
from bench.served import Served, served
from everyagent.client import Client
from everyagent.remote import wire
from everyagent.signatures import ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, signed_headers, verify

ADDED = Standard(bar=3.0, goal=1.5, best="low")
FLOOD = Standard(bar=10_000, goal=25_000, best="high")
CHECK = Standard(bar=50.0, goal=25.0, best="low")
RUNNER = "bench"
#: Events in a callback that is checked, and how often it is.
ENTRIES = 20
CHECKS = 2_000


def measure(plan: Plan) -> list[Figure]:
    """Sessions on the daemon's machine and on the runner alternate."""
    added: list[float] = []
    floods: list[float] = []
    with served() as here, _connected(here) as there:
        for repeat in range(plan.repeats):
            bare = latency.round_of(here, here, f"here-{repeat}", plan)
            far = latency.round_of(there, here, f"there-{repeat}", plan)
            added.append(percentile(far, 0.5) - percentile(bare, 0.5))
            flood = Flooded(there, f"flood-{repeat}", plan.flood_events, readers=1, limit=plan.limit)
            floods.append(flood.events / flood.seconds)
    load = load_average()
    return [
        Figure(
            what=f"a runner: added latency at {latency.RATE:,} events/s, p50",
            unit="ms",
            samples=added,
            load=load,
            standard=ADDED,
        ),
        Figure(
            what="a runner: native line -> committed -> one SSE reader",
            unit="events/s",
            samples=floods,
            load=load,
            standard=FLOOD,
        ),
        Figure(
            what=f"a runner: check of a callback with {ENTRIES} events",
            unit="µs",
            samples=[_check() for _ in range(plan.repeats)],
            load=load,
            standard=CHECK,
        ),
    ]


class _OnRunner(Served):
    """The same daemon, with its sessions on the runner, which shares the core of the load with its agents."""

    def __init__(self, daemon: Served, work: Path) -> None:
        self.pid, self.address, self.client, self.folder = daemon.pid, daemon.address, daemon.client, work

    def create(self, session_id: str) -> None:
        self.client.create(session_id, agent="mock", runner=RUNNER)


@contextmanager
def _connected(daemon: Served) -> Generator[_OnRunner]:
    key = daemon.client.create_runner_key(name=RUNNER).secret
    work = daemon.folder / "work"
    work.mkdir()
    host, port = daemon.address
    words = ["runner", "--connect", f"http://{host}:{port}", "--directory", str(work), "--isolation", "none"]
    process = subprocess.Popen(
        [sys.executable, "-m", "everyagent", *words, "--data-dir", str(daemon.folder / "runner")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "EVERYAGENT_RUNNER_KEY": key},
    )
    try:
        _wait(daemon.client)
        yield _OnRunner(daemon, work)
    finally:
        process.terminate()
        process.wait(30)


def _wait(client: Client, limit: float = 30.0) -> None:
    deadline = time.monotonic() + limit
    while not any(each.connected for each in client.runners()):
        if time.monotonic() > deadline:
            raise Unmeasured(f"the runner did not connect within {limit:.0f} s")
        time.sleep(0.02)


def _check() -> float:
    """The microseconds to derive the key of a conversation, and to verify and decode a callback of it."""
    master, session, epoch = secrets.token_bytes(32), "my-session", 7
    entries = [msgspec.Raw(msgspec.msgpack.encode(wire.Result(number))) for number in range(ENTRIES)]
    sent = wire.Callback(session_id=session, epoch=epoch, first=1, entries=entries, command=0)
    body, decoder = msgspec.msgpack.encode(sent), msgspec.msgpack.Decoder(wire.Callback)
    now = int(time.time())
    headers = signed_headers(wire.session_secret(master, session, epoch), "msg_1", now, body)
    began = time.perf_counter()
    for _ in range(CHECKS):
        secret = wire.session_secret(master, session, epoch)
        verify((secret,), headers[ID_HEADER], headers[TIMESTAMP_HEADER], headers[SIGNATURE_HEADER], body, now=now)
        decoder.decode(body)
    return 1e6 * (time.perf_counter() - began) / CHECKS
