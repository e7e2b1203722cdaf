"""Throughput of pages of 1,000 events over persistent connections."""

import re
import selectors
import socket
import time
from contextlib import ExitStack

from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average
from bench.plan import Plan
from bench.served import Busy, Served, served

STANDARD = Standard(bar=700, goal=1_500, best="high")
CONNECTIONS = 4
EVENTS = 1_000
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def measure(plan: Plan) -> list[Figure]:
    with served() as daemon:
        daemon.create("listed")
        daemon.client.run_turn("listed", f"[flood events={EVENTS} size=200]")
        daemon.client.terminate("listed")
        page = Page(daemon, f"/v1/sessions/listed/events?limit={EVENTS}", b'"event_id":')
        samples: list[float] = []
        busy = Busy(daemon)
        for _ in range(plan.repeats):
            samples.append(page.rate(plan.list_seconds))
        busy.stop()
    return [
        Figure(
            what=f"list of {EVENTS:,} events",
            unit="pages/s",
            samples=samples,
            load=load_average(),
            standard=STANDARD,
            note=f"{page.size / 1e3:,.0f} KB each, {busy}",
        )
    ]


class Page:
    """One page that is requested repeatedly."""

    def __init__(self, daemon: Served, path: str, mark: bytes) -> None:
        """`mark` is a string that is in each event once."""
        self._address = daemon.address
        self._request = daemon.get(path)
        self._buffer = bytearray(1 << 20)
        with socket.create_connection(self._address, timeout=30.0) as first:
            first.sendall(self._request)
            answer = b""
            while len(answer) < (size := _whole_size(answer)):
                answer += first.recv(1 << 20)
        self.size = size
        events = answer.count(mark)
        if events != EVENTS:
            raise Unmeasured(f"the page has {events:,} events, not {EVENTS:,}")

    def rate(self, seconds: float) -> float:
        """Pages per second. Each connection requests the next page when it has one; all have the same size."""
        missing: dict[socket.socket, int] = {}
        pages = 0
        with ExitStack() as open_ones, selectors.DefaultSelector() as selector:
            for _ in range(CONNECTIONS):
                asking = open_ones.enter_context(socket.create_connection(self._address, timeout=30.0))
                asking.sendall(self._request)
                missing[asking] = self.size
                selector.register(asking, selectors.EVENT_READ, asking)
            began = time.perf_counter()
            while (elapsed := time.perf_counter() - began) < seconds:
                for key, _ in selector.select(1.0):
                    asking: socket.socket = key.data
                    missing[asking] -= asking.recv_into(self._buffer)
                    if not missing[asking]:
                        pages += 1
                        missing[asking] = self.size
                        asking.sendall(self._request)
            return pages / elapsed


def _whole_size(answer: bytes) -> int:
    """The size of a response from its beginning, with its head. Larger than the buffer while it is unknown."""
    head, blank, _ = answer.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    if not blank:
        return len(answer) + 1
    if not answer.startswith(b"HTTP/1.1 200 ") or not length:
        raise Unmeasured(f"no page came: {answer[:200]!r}")
    return len(head) + len(blank) + int(length[1])
