"""Row: SIGTERM to a daemon under load. Its agents and turns end in order, and nothing is lost."""

import asyncio
import time

import anyio
import httpx2

from everyagent.testing.daemon import DaemonProcess
from tests.torture.checker import (
    Witness,
    agents_of,
    at_rest,
    check_rules,
    client_of,
    create,
    log_of,
    no_agents_left,
    read,
)
from tests.torture.row import Outcome, Run, missed
from tests.waiting import LIMIT_SECONDS

#: Seconds from SIGTERM to the exit.
DRAIN_SECONDS = 30
READERS = 3
PROMPTS = (
    "[flood events=1000000 size=50 rate=2000]",
    "[tool name=bash command='trap \"\" TERM; sleep 600']",
    "[slow seconds=600]",
    "[hang deaf=true]",
    "[subagent command='sleep 600']",
)


async def run(run: Run) -> Outcome:
    rounds, sessions = run.pick(1, 20), run.pick(5, 20)
    run.announce(rounds)
    daemon, took, orphans = DaemonProcess(run.folder / "data", "--default-agent", "mock"), list[float](), list[float]()
    for number in range(rounds):
        witnesses = [Witness(f"session-{number}-{each}") for each in range(sessions)]
        daemon.start()
        try:
            took.append(await _ended_under_load(daemon, witnesses))
            orphans.append(await no_agents_left(daemon))
            daemon.start()
            await _check(daemon, witnesses)
            assert daemon.stop() == 0
        finally:
            if daemon.alive:
                daemon.kill()
        run.step()
    return Outcome(
        faults=rounds,
        figures={
            "load": f"{sessions} sessions in a turn, {sessions * READERS} readers",
            "SIGTERM to the exit": f"longest {max(took):.2f} s",
            "agents gone after it": f"longest {max(orphans):.2f} s",
        },
        missed=missed("SIGTERM to the exit", took, DRAIN_SECONDS),
    )


async def _ended_under_load(daemon: DaemonProcess, witnesses: list[Witness]) -> float:
    """The seconds from SIGTERM to the exit, while every session is in a turn."""
    took, code = 0.0, -1
    async with client_of(daemon) as client, anyio.create_task_group() as tasks:
        for each, witness in enumerate(witnesses):
            await create(client, daemon, witness.path)
            for _ in range(READERS):
                tasks.start_soon(_read_until_the_end, client, witness)
            answer = await client.post(f"{witness.path}/messages", json={"message": PROMPTS[each % len(PROMPTS)]})
            assert answer.status_code == 204, answer.text
        with anyio.fail_after(LIMIT_SECONDS):
            while not all(b'"turn.started"' in b"".join(each.bodies) for each in witnesses):
                await asyncio.sleep(0.02)
            while len(agents_of(daemon)) < len(witnesses):
                await asyncio.sleep(0.02)
        began = time.monotonic()
        code = await asyncio.to_thread(daemon.stop)
        took = time.monotonic() - began
        tasks.cancel_scope.cancel()
    assert code == 0, f"the daemon ended with {code}:\n{daemon.output()}"
    return took


async def _read_until_the_end(client: httpx2.AsyncClient, witness: Witness) -> None:
    try:
        await read(client, witness, 0)
    except httpx2.TransportError:
        return


async def _check(daemon: DaemonProcess, witnesses: list[Witness]) -> None:
    """What readers saw is in the log, every turn has ended, and every session goes on."""
    async with client_of(daemon) as client:
        for witness in witnesses:
            await at_rest(client, witness.path)
            log = await log_of(client, witness.path)
            assert log[: len(witness.bodies)] == witness.bodies, f"{witness.path}: the log is not what readers saw"
            await check_rules(client, witness.path)
            await client.post(f"{witness.path}/messages", json={"message": "[hello]"})
            await at_rest(client, witness.path)
            assert b'"stop_reason":"end_turn"' in b"".join(await check_rules(client, witness.path))
            await client.delete(witness.path)
