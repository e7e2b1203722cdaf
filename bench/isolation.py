"""Time that a wall adds to the start of an agent, and to a message to an agent that runs."""

import time
from typing import NamedTuple

from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average
from bench.plan import Plan
from bench.served import Served, served
from everyagent.model.isolation import Isolation
from everyagent.runtime.wall_probe import unavailable_reason

START = Standard(bar=15.0, goal=10.0, best="low")
MESSAGE = Standard(bar=1.0, goal=0.2, best="low")
#: Sessions with a wall, and as many without, for one sample: the difference of the fastest ones. Single differences are
#: larger than what is measured, on a busy machine.
SESSIONS = 10
MESSAGES = 10


def measure(plan: Plan) -> list[Figure]:
    """Sessions of the mock agent with and without a wall alternate."""
    if reason := unavailable_reason():
        raise Unmeasured(f"this machine has no walls: {reason}")
    starts: list[float] = []
    messages: list[float] = []
    plain: list[float] = []
    with served() as daemon:
        _times(daemon, "first", "namespace")  # loads modules, and fills caches
        for repeat in range(plan.repeats):
            bare, walled = list[Times](), list[Times]()
            for number in range(SESSIONS):
                bare.append(_times(daemon, f"none-{repeat}-{number}", "none"))
                walled.append(_times(daemon, f"wall-{repeat}-{number}", "namespace"))
            plain.append(min(each.first for each in bare))
            starts.append(min(each.first for each in walled) - plain[-1])
            messages.append(min(each.later for each in walled) - min(each.later for each in bare))
    load, alone = load_average(), sorted(plain)[len(plain) // 2]
    return [
        Figure(
            what="isolation: added to the first turn, which starts the agent",
            unit="ms",
            samples=starts,
            load=load,
            standard=START,
            note=f"{alone:.0f} ms without a wall",
        ),
        Figure(
            what="isolation: added to a turn of an agent that runs",
            unit="ms",
            samples=messages,
            load=load,
            standard=MESSAGE,
        ),
    ]


class Times(NamedTuple):
    """Milliseconds of the first turn, and of the fastest later one."""

    first: float
    later: float


def _times(daemon: Served, session_id: str, isolation: Isolation) -> Times:
    daemon.client.create(session_id, agent="mock", directory=str(daemon.folder), isolation=isolation)
    times: list[float] = []
    for _ in range(MESSAGES):
        began = time.perf_counter()
        daemon.client.run_turn(session_id, "[hello]")
        times.append(1000 * (time.perf_counter() - began))
    daemon.client.terminate(session_id)
    return Times(times[0], min(times[1:]))
