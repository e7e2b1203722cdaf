"""Row: agents that send hostile output, or none, or read no input. The daemon lives, and the next frame is read."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, cast

import anyio
import apsw
import httpx2
from bench.machine import resident_bytes

from everyagent.testing.daemon import DaemonProcess
from tests.torture.checker import at_rest, check_rules, client_of, create
from tests.torture.mutations import LINES
from tests.torture.row import Outcome, Run
from tests.waiting import LIMIT_SECONDS

ROOT = Path(__file__).parents[2]
#: The limit on the growth of the daemon's memory by one hostile agent.
GROWTH_LIMIT = 80 << 20


class Hostility(NamedTuple):
    """`prompt` makes the agent misbehave. `ended`: it says more afterwards; otherwise the client cancels the turn.

    `steers` are messages of 50 kB for its stdin, more than a pipe takes.
    """

    prompt: str
    ended: bool = True
    steers: int = 0


async def run(run: Run) -> Outcome:
    megabytes, events = run.pick(100, 1024), run.pick(50_000, 1_000_000)
    lines = run.folder / "lines"
    lines.write_bytes(b"".join(line + b"\n" for line in LINES.values()))
    cases = {
        f"a line of {megabytes:,} MiB": Hostility(f"[hostile kind=line megabytes={megabytes}] [hello]"),
        f"{megabytes:,} MiB without a newline": Hostility(f"[hostile kind=endless megabytes={megabytes}]", ended=False),
        f"{len(LINES)} lines of {', '.join(LINES)}": Hostility(f"[hostile kind=file path={lines}] [hello]"),
        "torn JSON, then death": Hostility("[hostile kind=torn]"),
        "closed stdout": Hostility('[hostile kind="closed stdout"]', ended=False),
        "stdin that is never read": Hostility("[hang deaf=true stubborn=true]", ended=False, steers=20),
        f"{events:,} events at once": Hostility(f"[flood events={events} size=20] [hello]"),
    }
    run.announce(len(cases))
    daemon = DaemonProcess(
        run.folder / "data",
        "--default-agent",
        "mock",
        "--isolation",  # the program of these agents is a test's, which is not there behind a wall
        "none",
        environment={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        module="tests.torture.hostile_daemon",
    )
    daemon.start()
    figures: dict[str, str] = {}
    try:
        async with client_of(daemon) as client:
            await _ready(client, daemon, "/v1/sessions/neighbour")
            for number, (name, case) in enumerate(cases.items()):
                figures[name] = await _one(daemon, client, f"/v1/sessions/hostile-{number}", case)
                run.step()
    finally:
        daemon.kill()
    frames = set(_frames(run.folder / "data", "hostile-2"))
    missing = [name for name, line in LINES.items() if line not in frames]
    assert missing == [], f"these lines were not kept: {missing}"
    return Outcome(faults=len(cases) + len(LINES) - 1, figures=figures)


async def _ready(client: httpx2.AsyncClient, daemon: DaemonProcess, path: str) -> None:
    await create(client, daemon, path)
    await _send(client, path, "[hello]")
    await at_rest(client, path)


async def _send(client: httpx2.AsyncClient, path: str, text: str, **fields: object) -> None:
    answer = await client.post(f"{path}/messages", json={"message": text, **fields})
    assert answer.status_code == 204, answer.text


async def _one(daemon: DaemonProcess, client: httpx2.AsyncClient, path: str, case: Hostility) -> str:
    await _ready(client, daemon, path)
    peak = [resident_bytes(daemon.pid)]
    slowest = [0.0]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_sampled, daemon, peak)
        tasks.start_soon(_health, client, slowest)
        await _send(client, path, case.prompt)
        if not case.ended:
            await _until(lambda: _running(client, path))
            for _ in range(case.steers):
                await client.post(f"{path}/messages", json={"message": "x" * 50_000, "delivery": "steer"})
            await client.post(f"{path}/cancel")
        with anyio.fail_after(LIMIT_SECONDS):
            await at_rest(client, path)
        tasks.cancel_scope.cancel()
    growth = max(peak) - peak[0]
    await _send(client, path, "[hello]")
    await at_rest(client, path)
    log = await check_rules(client, path)
    assert b'"stop_reason":"end_turn"' in log[-2] + log[-1] + log[-3], "the session is not usable"
    await _send(client, "/v1/sessions/neighbour", "[hello]")
    await at_rest(client, "/v1/sessions/neighbour")
    await check_rules(client, "/v1/sessions/neighbour")
    assert growth <= GROWTH_LIMIT, f"{growth / 2**20:.0f} MiB more memory after {case.prompt}"
    return f"+{growth / 2**20:.0f} MiB at the peak, slowest /v1/health {slowest[0] * 1000:.0f} ms"


async def _running(client: httpx2.AsyncClient, path: str) -> bool:
    return (await client.get(path)).json()["status"] == "running"


async def _until(met: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while not await met():
            await asyncio.sleep(0.02)


async def _sampled(daemon: DaemonProcess, peak: list[int]) -> None:
    while True:
        peak.append(resident_bytes(daemon.pid))
        await asyncio.sleep(0.02)


async def _health(client: httpx2.AsyncClient, slowest: list[float]) -> None:
    while True:
        began = anyio.current_time()
        assert (await client.get("/v1/health")).status_code == 200
        slowest[0] = max(slowest[0], anyio.current_time() - began)
        await asyncio.sleep(0.1)


def _frames(folder: Path, session_id: str) -> list[bytes]:
    """The bodies of all frames of a session, as they are stored."""
    connection = apsw.Connection(str(folder / "everyagent.db"))
    rows = connection.execute(
        "SELECT blob, body FROM frames JOIN sessions ON sessions.number = key >> 32 WHERE session_id = ?", (session_id,)
    ).fetchall()
    connection.close()
    stored = cast("list[tuple[bytes | None, bytes]]", rows)
    return [body if digest is None else (folder / "blobs" / digest.hex()).read_bytes() for digest, body in stored]
