"""Cost of appends and pages in a large log compared with a small one, in alternating runs, on both databases."""

import asyncio
import random
import shutil
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import psycopg
import uvloop
from psycopg.sql import SQL, Identifier

from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average
from bench.plan import Plan
from bench.served import folder
from everyagent.clock import SystemClock
from everyagent.dev_cluster.postgres import PostgresServer
from everyagent.log.log import Append, EventQuery, NewEvent, NewFrame, SessionRecord
from everyagent.log.postgres import PostgresLog
from everyagent.log.sqlite import SqliteLog
from everyagent.model.events import TYPE_NUMBERS

STANDARD = Standard(bar=1.3, goal=1.1, best="low")
SMALL_EVENTS = 10_000
PAGE = 1_000
APPENDED = 10
#: As an agent's output comes in while the log grows.
BURST, BURSTS_ON_THEIR_WAY = 50, 100
#: Operations on one log before it is the other's turn.
BLOCK, BLOCKS = 20, 15
BYTES_AN_EVENT = 1_000
BUILD_SECONDS = 1_800

_DELTA = TYPE_NUMBERS["item.delta"]
_ENVELOPE = (
    b'{"event_id":"evt_01jcr5a8z3k2v9m4n6p7q8r9s0","sequence":%d,"time":"2030-01-01T00:00:00.000000Z",'
    b'"session_id":"a-session-of-many","native_session_id":"mock_0123456789abcdef","synthetic":false,"source":"agent",'
    b'"type":"item.delta","data":{"item_id":"itm_01jcr5a8z3k2v9m4n6p7q8r9s0","native_item_id":"msg_1_1",'
    b'"delta":" about twenty-four chars","content_index":0,"kind":"text"},"raw":null}'
)
_FRAME = b'{"type":"text","id":"msg_1_1","index":0,"text":" about twenty-four chars"}'


class Grown:
    """A log of this many events in sessions that grow at the same time, in bursts. `store` opens it."""

    def __init__(self, store: "Store", events: int) -> None:
        self._store = store
        self.events = events
        self._sessions: list[tuple[SessionRecord, int]] = []
        self._random = random.Random(events)

    async def build(self) -> None:
        deadline = time.monotonic() + BUILD_SECONDS
        log = await self._store()
        try:
            for number in range(max(10, min(1_000, self.events // PAGE))):
                record = await log.create(_record(f"session-{number}"), [_event(1, 0)])
                self._sessions.append((record, 1))
            on_their_way: list[Awaitable[None]] = []
            for burst in range(self.events // BURST):
                on_their_way.append(log.append(self._step(burst % len(self._sessions), BURST)))
                if len(on_their_way) == BURSTS_ON_THEIR_WAY:
                    await asyncio.gather(*on_their_way)
                    on_their_way.clear()
                    if time.monotonic() > deadline:
                        raise Unmeasured(f"a log of {self.events:,} events was not made in {BUILD_SECONDS} s")
            await asyncio.gather(*on_their_way)
        finally:
            await log.close()

    async def open(self) -> None:
        self._log = await self._store()

    async def close(self) -> None:
        await self._log.close()

    async def append(self) -> None:
        await self._log.append(self._step(self._random.randrange(len(self._sessions)), APPENDED))

    async def page(self) -> None:
        record, head = self._random.choice(self._sessions)
        after = self._random.randrange(head - PAGE)
        page = await self._log.events(EventQuery(session=record.number, after=after, limit=PAGE))
        if len(page.events) != PAGE:
            raise Unmeasured(f"a page had {len(page.events)} events, not {PAGE}")

    def _step(self, index: int, count: int) -> Append:
        record, head = self._sessions[index]
        self._sessions[index] = record, head + count
        numbers = range(head + 1, head + count + 1)
        return Append(
            session=record.number,
            epoch=record.epoch,
            expected=head,
            at=record.created_at + head,
            events=[_event(number, number) for number in numbers],
            frames=[NewFrame(number, "from_agent", "json", _FRAME, number, number) for number in numbers],
        )


#: Opens a log.
Store = Callable[[], Awaitable[SqliteLog | PostgresLog]]


def measure(plan: Plan) -> list[Figure]:
    with _room(plan) as path:

        def store(name: str) -> Store:
            async def opened() -> SqliteLog:
                """After reading its file, so that the log is measured and not the disk."""
                file = path / name / "everyagent.db"
                if file.exists():
                    with file.open("rb", buffering=0) as reading:
                        while reading.read(1 << 20):
                            continue
                return await SqliteLog.open(path / name, SystemClock())

            return opened

        return _run(store("small"), store("large"), "in a file in memory", plan)


def measure_postgres(plan: Plan) -> list[Figure]:
    with _room(plan) as path, ExitStack() as at_the_end:
        path.chmod(0o711)
        (path / "server").mkdir()
        server = PostgresServer(path / "server")
        at_the_end.callback(server.stop)
        server.start()

        def store(name: str) -> Store:
            with psycopg.connect(server.url, autocommit=True) as connection:
                connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
            url = f"{server.url.removesuffix('postgres')}{name}"
            return lambda: PostgresLog.open(url, path / name, SystemClock())

        return _run(store("small"), store("large"), "in PostgreSQL", plan)


@contextmanager
def _room(plan: Plan) -> Generator[Path]:
    with folder() as path:
        need = BYTES_AN_EVENT * plan.log_events * 3 // 2
        if shutil.disk_usage(path).free < need:
            raise Unmeasured(f"{need / 1e9:.0f} GB free are needed in {path.parent}; TMPDIR names another folder")
        yield path


def _run(small: "Store", large: "Store", where: str, plan: Plan) -> list[Figure]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measure(Grown(small, SMALL_EVENTS), Grown(large, plan.log_events), where, plan))


async def _measure(small: Grown, large: Grown, where: str, plan: Plan) -> list[Figure]:
    began = time.monotonic()
    for log in (small, large):
        await log.build()
    built = f"made in {time.monotonic() - began:.0f} s"
    for log in (small, large):
        await log.open()
    try:
        return [
            await _compared(f"append of {APPENDED} {where}", small.append, large.append, plan, built),
            await _compared(f"page of {PAGE:,} {where}", small.page, large.page, plan),
        ]
    finally:
        for log in (small, large):
            await log.close()


Operation = Callable[[], Awaitable[None]]


async def _compared(what: str, small: Operation, large: Operation, plan: Plan, note: str = "") -> Figure:
    ratios: list[float] = []
    micros: tuple[float, float] = (0, 0)
    for _ in range(plan.repeats):
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(BLOCKS):
            for operation, taken in zip((small, large), times, strict=True):
                for _ in range(BLOCK):
                    began = time.perf_counter()
                    await operation()
                    taken.append(time.perf_counter() - began)
        micros = median(times[0]) * 1e6, median(times[1]) * 1e6
        ratios.append(micros[1] / micros[0])
    return Figure(
        what=f"{what} at {plan.log_events:,} events, against {SMALL_EVENTS:,}",
        unit="times",
        samples=ratios,
        load=load_average(),
        standard=STANDARD,
        note=f"{micros[0]:,.0f} -> {micros[1]:,.0f} µs" + (f", {note}" if note else ""),
    )


def _event(sequence: int, frame: int) -> NewEvent:
    return NewEvent(sequence, _DELTA, frame, _ENVELOPE % sequence)


def _record(session_id: str) -> SessionRecord:
    now = SystemClock().micros()
    return SessionRecord(
        number=0, session_id=session_id, agent="mock", created_at=now, updated_at=now, config=b"{}", secrets=None
    )
