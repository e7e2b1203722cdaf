"""Row: one daemon at work for long: sessions come, work and go. Memory, descriptors and files do not grow."""

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import httpx2
from bench.machine import resident_bytes

from everyagent.testing.daemon import DaemonProcess
from tests.torture.checker import at_rest, check_rules, client_of, create
from tests.torture.row import Outcome, Run

PROMPTS = ("[text words=50]", "[ask] [hello]", "[reasoning]", "[flood events=2000 size=100]", "[unparsed]", "[diff]")
AT_ONCE = 4
#: MiB an hour, in the second half of a run that is long enough to measure it.
MOST_GROWTH = 16.0
_SETTLED_SECONDS = 1800.0
#: Rounds before the first sample, in which caches fill.
WARM_ROUNDS = 10


async def run(run: Run) -> Outcome:
    seconds = run.pick(10, 3600)
    seconds = int(min(seconds, max(0.0, run.deadline - time.monotonic())))
    run.announce(seconds)
    daemon = DaemonProcess(run.folder / "data", "--default-agent", "mock")
    daemon.start()
    sessions = 0
    began = time.monotonic()
    samples: list[tuple[float, int, int, int]] = []
    try:
        async with client_of(daemon) as client:
            while (passed := time.monotonic() - began) < seconds or len(samples) < 2:
                await asyncio.gather(*(_life(client, daemon, sessions + number) for number in range(AT_ONCE)))
                sessions += AT_ONCE
                if sessions >= WARM_ROUNDS * AT_ONCE or run.size == "gate":
                    samples.append((passed, *_state(daemon)))
                for _ in range(int(time.monotonic() - began) - int(passed)):
                    run.step()
    finally:
        code = daemon.stop()
    assert code == 0
    (start, memory, descriptors, files), (end, memory_after, descriptors_after, files_after) = samples[0], samples[-1]
    assert descriptors_after <= descriptors + 20, f"{descriptors} descriptors became {descriptors_after}"
    assert files_after <= files + 20, f"{files} files in the data folder became {files_after}"
    growth = growth_of([(at, used) for at, used, _, _ in samples])
    if run.size == "full" and end - start >= _SETTLED_SECONDS:
        assert growth <= MOST_GROWTH, f"memory grows by {growth:.1f} MiB an hour; {MOST_GROWTH} are allowed"
    figures = {
        "sessions": f"{sessions:,} created, used and deleted in {end:,.0f} s",
        "memory": f"{memory / 2**20:.0f} MiB at first, {memory_after / 2**20:.0f} MiB at the end",
        "growth in the second half": f"{growth:.1f} MiB an hour",
        "file descriptors": f"{descriptors} at first, {descriptors_after} at the end",
        "files in the data folder": f"{files} at first, {files_after} at the end",
    }
    partial = [] if seconds >= 3600 or run.size == "gate" else [f"an hour: it ran for {seconds:,} s"]
    return Outcome(faults=sessions, figures=figures, partial=partial)


def growth_of(samples: Sequence[tuple[float, int]]) -> float:
    """MiB an hour in the second half of the samples, which are pairs of seconds and bytes: the slope of their line."""
    half = samples[len(samples) // 2 :]
    middle, mean = fmean(at for at, _ in half), fmean(used for _, used in half)
    spread = sum((at - middle) ** 2 for at, _ in half)
    if not spread:
        return 0.0
    return sum((at - middle) * (used - mean) for at, used in half) / spread * 3600 / 2**20


async def _life(client: httpx2.AsyncClient, daemon: DaemonProcess, number: int) -> None:
    """One session: two turns, checked, and deleted."""
    path = f"/v1/sessions/soak-{number}"
    await create(client, daemon, path)
    for text in (PROMPTS[number % len(PROMPTS)], "[hello]"):
        answer = await client.post(f"{path}/messages", json={"message": text})
        assert answer.status_code == 204, answer.text
        await at_rest(client, path)
    await check_rules(client, path)
    assert (await client.delete(path)).is_success


def _state(daemon: DaemonProcess) -> tuple[int, int, int]:
    """Resident bytes, open descriptors, files in the data folder."""
    files = sum(len(names) for _, _, names in os.walk(daemon.data_dir))
    return resident_bytes(daemon.pid), len(list(Path(f"/proc/{daemon.pid}/fd").iterdir())), files
