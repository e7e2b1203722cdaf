"""Memory of an idle daemon, and per idle session and per idle reader."""

import time

from bench.figure import Figure, Standard
from bench.machine import load_average, resident_bytes
from bench.plan import Plan
from bench.readers import reading
from bench.served import Served, served

IDLE = Standard(bar=70, goal=45, best="low")
SESSION = Standard(bar=30, goal=12, best="low")
READER = Standard(bar=25, goal=10, best="low")
#: Made before the count begins: what is there once costs nobody in particular.
FIRST = 50
SETTLE_SECONDS = 1.0
#: It hardly varies.
REPEATS = 2


def measure(plan: Plan) -> list[Figure]:
    idle: list[float] = []
    session: list[float] = []
    reader: list[float] = []
    for _ in range(min(REPEATS, plan.repeats)):
        with served() as daemon:
            idle.append(_settled(daemon) / 1e6)
            session.append(_a_session(daemon, plan.idle_sessions) / 1e3)
        with served() as daemon:
            reader.append(_a_reader(daemon, plan.idle_readers) / 1e3)
    load = load_average()
    return [
        Figure(what="memory after the start", unit="MB", samples=idle, load=load, standard=IDLE),
        Figure(what="memory of an idle session", unit="KB", samples=session, load=load, standard=SESSION),
        Figure(what="memory of an idle reader", unit="KB", samples=reader, load=load, standard=READER),
    ]


def _settled(daemon: Served) -> int:
    time.sleep(SETTLE_SECONDS)
    return resident_bytes(daemon.pid)


def _a_session(daemon: Served, count: int) -> float:
    """Bytes per session that has no message yet."""
    for number in range(FIRST):
        daemon.create(f"first-{number}")
    before = _settled(daemon)
    for number in range(count):
        daemon.create(f"idle-{number}")
    return max(0, _settled(daemon) - before) / count


def _a_reader(daemon: Served, count: int) -> float:
    """Bytes per reader at the end of a stream."""
    daemon.create("read")
    head = daemon.client.session("read").event_count
    with reading(daemon, "read", head, FIRST) as readers:
        before = _settled(daemon)
        readers.open(count)
        return max(0, _settled(daemon) - before) / count
