"""The Managed Agents API: latency to running, throughput of lists, memory of an open stream."""

import socket
import time
import uuid
from statistics import median
from typing import cast

import httpx2

from bench.figure import Figure, Standard, Unmeasured
from bench.listing import EVENTS, Page
from bench.machine import load_average, resident_bytes
from bench.memory import FIRST, SETTLE_SECONDS
from bench.plan import Plan
from bench.readers import Readers
from bench.served import Served, served
from everyagent.testing.daemon import TOKEN

RUNNING = Standard(bar=5.0, goal=3.0, best="low")
LISTED = Standard(bar=1.0, goal=1.1, best="high")
STREAM = Standard(bar=25, goal=12, best="low")
SENDS = 100
_TOOLS = " ".join(["[tool name=made_up]"] * 100)


class Managed:
    """A managed session of the mock agent."""

    def __init__(self, daemon: Served) -> None:
        host, port = daemon.address
        self._client = httpx2.Client(
            base_url=f"http://{host}:{port}/anthropic/v1", headers={"authorization": f"Bearer {TOKEN}"}, timeout=60.0
        )
        agent = self._post(
            "/agents",
            {
                "name": "bench",
                "model": "mock-small",
                "metadata": {"everyagent.agent": "mock"},
                "tools": [{"type": "agent_toolset_20260401"}],
            },
        )
        place = self._post("/environments", {"name": f"bench {uuid.uuid4()}"})
        made = self._post("/sessions", {"agent": agent["id"], "environment_id": place["id"]})
        self.id = str(made["id"])
        self.path = f"/anthropic/v1/sessions/{self.id}"

    def _post(self, path: str, body: object) -> dict[str, object]:
        answer = self._client.post(path, json=body)
        if answer.status_code != 200:
            raise Unmeasured(answer.text)
        return cast("dict[str, object]", answer.json())

    def send(self, text: str) -> None:
        message = {"type": "user.message", "content": [{"type": "text", "text": text}]}
        self._post(f"/sessions/{self.id}/events", {"events": [message]})


def measure(plan: Plan) -> list[Figure]:
    runs: list[float] = []
    with served() as daemon:
        session = Managed(daemon)
        for _ in range(plan.repeats):
            runs.append(_until_running(daemon, session))
        ratio, note = _listed(daemon, session, plan)
    with served() as daemon:
        weight = _a_stream(daemon, plan.idle_readers)
    load = load_average()
    return [
        Figure(what="managed: send -> running, p50", unit="ms", samples=runs, load=load, standard=RUNNING),
        Figure(
            what=f"managed: list of {EVENTS:,} events / universal list",
            unit="x",
            samples=[ratio],
            load=load,
            standard=LISTED,
            note=note,
        ),
        Figure(what="managed: memory of an open stream", unit="KB", samples=[weight], load=load, standard=STREAM),
    ]


def _until_running(daemon: Served, session: Managed) -> float:
    """Milliseconds from the request to the event on an open stream."""
    times: list[float] = []
    with socket.create_connection(daemon.address, timeout=30.0) as reader:
        reader.sendall(daemon.get(f"{session.path}/events/stream"))
        _read_until(reader, b": open")
        for _ in range(SENDS):
            began = time.perf_counter()
            session.send("[hello]")
            received = _read_until(reader, b"session.status_running")
            times.append((time.perf_counter() - began) * 1e3)
            if b"session.status_idle" not in received:
                _read_until(reader, b"session.status_idle")
    return median(times[5:])


def _read_until(reader: socket.socket, mark: bytes) -> bytes:
    received = b""
    while mark not in received:
        piece = reader.recv(1 << 16)
        if not piece:
            raise Unmeasured("the stream ended")
        received += piece
    return received


def _listed(daemon: Served, session: Managed, plan: Plan) -> tuple[float, str]:
    with socket.create_connection(daemon.address, timeout=60.0) as reader:
        reader.sendall(daemon.get(f"{session.path}/events/stream"))
        _read_until(reader, b": open")
        for _ in range(4):
            session.send(_TOOLS)
            _read_until(reader, b"session.status_idle")
    managed = Page(daemon, f"{session.path}/events?limit={EVENTS}", b'"processed_at":')
    universal = Page(daemon, f"/v1/sessions/{session.id}/events?limit={EVENTS}", b'"event_id":')
    ratios: list[float] = []
    for _ in range(plan.repeats):
        ratios.append(managed.rate(plan.list_seconds) / universal.rate(plan.list_seconds))
    return median(ratios), f"{managed.size / 1e3:,.0f} KB against {universal.size / 1e3:,.0f} KB"


def _a_stream(daemon: Served, count: int) -> float:
    session = Managed(daemon)
    readers = Readers(daemon, f"{session.path}/events/stream")
    try:
        readers.open(FIRST)
        time.sleep(SETTLE_SECONDS)
        before = resident_bytes(daemon.pid)
        readers.open(count)
        time.sleep(SETTLE_SECONDS)
        return max(0, resident_bytes(daemon.pid) - before) / count / 1e3
    finally:
        readers.close()
