"""Row: readers that stall, idle and read a flood. Memory of the daemon per reader, and effects on other readers."""

import asyncio
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

import anyio
import httpx2
from bench.machine import resident_bytes

from everyagent.testing.daemon import DaemonProcess
from tests.torture.checker import client_of
from tests.torture.row import Outcome, Run
from tests.waiting import LIMIT_SECONDS

#: Limits of the daemon's memory per reader, in bytes. A small number of readers pays for what all share, too.
STALLED_LIMIT = 64 << 10
IDLE_LIMIT = 25_000
SHARED_BYTES = 48 << 20
#: More readers than this would let the client's own CPU decide the result.
OPEN_AT_ONCE = 200
_FLOOD = "[flood events={events} size=200]"
_LAST = b'"status":"idle"}'


class Readers:
    """Raw sockets with small receive buffers, so that a client that stops reading is noticed soon."""

    def __init__(self, daemon: DaemonProcess, path: str) -> None:
        self._address = (urlsplit(daemon.url).hostname or "", daemon.port)
        headers = "".join(f"{name}: {value}\r\n" for name, value in daemon.headers.items())
        self._request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n".encode()
        self.sockets: list[socket.socket] = []

    async def open(self, count: int) -> None:
        """Opens connections and waits for their response heads."""
        for start in range(0, count, OPEN_AT_ONCE):
            opened = [self._connect() for _ in range(min(OPEN_AT_ONCE, count - start))]
            for each in opened:
                head = await asyncio.to_thread(each.recv, 15)
                assert head.startswith(b"HTTP/1.1 200"), head
                each.setblocking(False)
            self.sockets += opened

    def _connect(self) -> socket.socket:
        opened = socket.socket()
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.settimeout(LIMIT_SECONDS)
        opened.connect(self._address)
        opened.sendall(self._request)
        return opened

    async def drain(self) -> int:
        """Reads everything until each reader has seen the end of a turn. Returns the number of bytes."""

        async def one(each: socket.socket) -> int:
            loop, total, tail = asyncio.get_running_loop(), 0, b""
            while _LAST not in tail:
                piece = await loop.sock_recv(each, 1 << 16)
                assert piece, "the daemon closed a reader's connection"
                total, tail = total + len(piece), (tail + piece)[-len(piece) - 200 :]
            return total

        with anyio.fail_after(LIMIT_SECONDS):
            return sum(await asyncio.gather(*map(one, self.sockets)))

    def close(self) -> None:
        for each in self.sockets:
            each.close()


@contextmanager
def reading(daemon: DaemonProcess, path: str) -> Generator[Readers]:
    readers = Readers(daemon, path)
    try:
        yield readers
    finally:
        readers.close()


async def _turn(client: httpx2.AsyncClient, session: str, text: str) -> float:
    """Runs one turn. Returns its seconds."""
    began = time.monotonic()
    answer = await client.post(f"/v1/sessions/{session}/messages", json={"message": text})
    assert answer.status_code == 204, answer.text
    with anyio.fail_after(LIMIT_SECONDS):
        while (await client.get(f"/v1/sessions/{session}")).json()["status"] != "idle":
            await asyncio.sleep(0.02)
    return time.monotonic() - began


async def _peak(daemon: DaemonProcess, peak: list[int]) -> None:
    while True:
        peak.append(resident_bytes(daemon.pid))
        await asyncio.sleep(0.02)


async def run(run: Run) -> Outcome:
    stalled, idle, blasting = run.pick(50, 500), run.pick(500, 10_000), run.pick(50, 1000)
    events = run.pick(10_000, 50_000)
    run.announce(5)
    daemon = DaemonProcess(run.folder / "data", "--default-agent", "mock")
    daemon.start()
    figures: dict[str, str] = {}
    try:
        async with client_of(daemon) as client:
            for session in ("stalled", "idle", "blast", "other"):
                await client.post(f"/v1/sessions/{session}", json={"directory": str(run.folder)})
                await _turn(client, session, "[hello]")
            await _turn(client, "other", _FLOOD.format(events=2000))
            figures |= await _stalled(daemon, client, stalled, events)
            run.step()
            for name, query in {"without a filter": "", "with a filter": "&types=item.delta,session.updated"}.items():
                figures |= await _blast(daemon, client, blasting, query, name)
                run.step()
            figures |= await _idle(daemon, client, idle)
            run.step()
            assert (await client.get("/v1/health")).status_code == 200
            run.step()
    finally:
        daemon.kill()
    return Outcome(faults=stalled + idle + 2 * blasting, figures=figures)


async def _stalled(daemon: DaemonProcess, client: httpx2.AsyncClient, count: int, events: int) -> dict[str, str]:
    """Readers that never read, of stored events and of a flood that goes on. Others are as fast as before."""
    await _turn(client, "stalled", _FLOOD.format(events=events))
    alone = await _turn(client, "other", _FLOOD.format(events=2000))
    before = resident_bytes(daemon.pid)
    with (
        reading(daemon, "/v1/sessions/stalled/events/sse") as stored,
        reading(daemon, "/v1/sessions/stalled/events/sse?offset=1") as live,
    ):
        await stored.open(count // 2)
        await live.open(count - count // 2)
        await _turn(client, "stalled", _FLOOD.format(events=events))
        beside = await _turn(client, "other", _FLOOD.format(events=2000))
        each = (resident_bytes(daemon.pid) - before) / count
    assert each <= STALLED_LIMIT + SHARED_BYTES / count, f"{each / 1024:.0f} KiB for each stalled reader"
    return {
        f"{count:,} stalled readers": f"{max(0, each) / 1024:.0f} KiB each",
        "a turn of another session, alone and beside them": f"{alone:.2f} s, {beside:.2f} s",
    }


async def _blast(
    daemon: DaemonProcess, client: httpx2.AsyncClient, count: int, query: str, name: str
) -> dict[str, str]:
    """Readers that read a flood as fast as they can."""
    head = (await client.get("/v1/sessions/blast")).json()["eventCount"]
    peak, total = [resident_bytes(daemon.pid)], 0
    with reading(daemon, f"/v1/sessions/blast/events/sse?offset={head}{query}") as readers:
        await readers.open(count)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_peak, daemon, peak)
            await client.post("/v1/sessions/blast/messages", json={"message": _FLOOD.format(events=5000)})
            total = await readers.drain()
            tasks.cancel_scope.cancel()
    each = (max(peak) - peak[0]) / count
    assert each <= STALLED_LIMIT + SHARED_BYTES / count, f"{each / 1024:.0f} KiB for each reader of a flood"
    return {
        f"{count:,} readers of a flood, {name}": f"{each / 1024:.0f} KiB each at the peak; {total / 1e6:,.0f} MB read"
    }


async def _idle(daemon: DaemonProcess, client: httpx2.AsyncClient, count: int) -> dict[str, str]:
    """Readers at the end of a session. All get its next turn."""
    head = (await client.get("/v1/sessions/idle")).json()["eventCount"]
    with reading(daemon, f"/v1/sessions/idle/events/sse?offset={head}") as readers:
        await readers.open(100)
        before = resident_bytes(daemon.pid)
        await readers.open(count)
        each = (resident_bytes(daemon.pid) - before) / count
        began = time.monotonic()
        await client.post("/v1/sessions/idle/messages", json={"message": "[hello]"})
        await readers.drain()
        seconds = time.monotonic() - began
    assert each <= IDLE_LIMIT, f"{each / 1000:.1f} KB for each idle reader"
    return {f"{count:,} idle readers": f"{each / 1000:.1f} KB each; a turn reached all in {seconds:.1f} s"}
