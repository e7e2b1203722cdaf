"""Row: the agent dies by a signal in each state of its protocol. The log says so once, and the session goes on."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import anyio
import httpx2

from everyagent.testing.daemon import DaemonProcess
from tests.torture.checker import agents_of, at_rest, check_rules, client_of, create, log_of, no_agents_left
from tests.torture.hostile_agent import NEVER_READY
from tests.torture.row import Outcome, Run, missed
from tests.waiting import LIMIT_SECONDS

ROOT = Path(__file__).parents[2]
SIGNALS = (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)


class State(NamedTuple):
    """`prompt` leads into the state; it is reached when `sign` is in the log. Then the client does `then`.

    `idle`: no turn is open. `ready`: the agent has started.
    """

    prompt: str
    sign: bytes
    then: str = ""
    idle: bool = False
    ready: bool = True


STATES: dict[str, State] = {
    "starting": State("[hello]", b"turn.started", ready=False),
    "silent after the prompt": State("[hang]", b"turn.started"),
    "in a message": State("[slow]", b"item.delta"),
    "in a flood": State("[flood events=1000000 size=50 rate=2000]", b"item.delta"),
    "in a tool": State("[tool name=bash command='sleep 100']", b'"kind":"tool_call"'),
    "waiting for a permission": State("[ask]", b"permission.requested"),
    "in a permitted tool": State("[ask command='sleep 100']", b"permission.requested", then="permit"),
    "waiting for an answer": State("[question]", b"question.requested"),
    "waiting for the approval of a plan": State("[approve]", b"question.requested"),
    "in a sub-agent": State("[subagent command='sleep 100']", b"subagent"),
    "ignoring an interrupt": State("[hang deaf=true]", b"turn.started", then="cancel"),
    "idle": State("[hello]", b"turn.ended", idle=True),
}


async def run(run: Run) -> Outcome:
    rounds = run.pick(1, 10)
    run.announce(rounds * len(SIGNALS))
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
    told: list[float] = []
    try:
        async with client_of(daemon) as client:
            for number in range(rounds):
                for each in SIGNALS:
                    async with anyio.create_task_group() as tasks:
                        for name, state in STATES.items():
                            path = f"/v1/sessions/{each.name}-{number}-{name.replace(' ', '-')}"
                            tasks.start_soon(_one, daemon, client, path, state, each, told)
                    run.step()
            for name, state in STATES.items():
                await _reach(daemon, client, f"/v1/sessions/last-{name.replace(' ', '-')}", state)
            assert len(agents_of(daemon)) > len(STATES), "the agents do not run before the kill"
    finally:
        daemon.kill()
    orphans = await no_agents_left(daemon)
    late = sum(each > 1 for each in told)
    return Outcome(
        faults=len(told) + 1,
        figures={
            "deaths": f"{len(STATES)} states by {', '.join(each.name for each in SIGNALS)}, {rounds} times each",
            "death to the end of the turn in the log": f"longest {max(told):.2f} s, {late} over 1 s",
            "agents in all states after kill -9 of the daemon": f"gone after {orphans:.2f} s",
        },
        missed=missed("death to the end of the turn", told, 1),
        partial=["Claude Code, Codex, OpenCode and Amp: their own tests kill the real programs in fewer states"],
    )


async def _reach(daemon: DaemonProcess, client: httpx2.AsyncClient, path: str, state: State) -> None:
    """Creates a session and leads it into the state."""
    await create(client, daemon, path, **({} if state.ready else {NEVER_READY: "1"}))
    answer = await client.post(f"{path}/messages", json={"message": state.prompt})
    assert answer.status_code == 204, answer.text

    async def reached() -> bool:
        return state.sign in b"".join(await log_of(client, path))

    await _until(reached)
    if state.then == "permit":
        (ask,) = (await client.get(f"{path}/asks")).json()["asks"]
        await client.post(f"{path}/permissions/{ask['askId']}/reply", json={"reply": "once"})


async def _one(
    daemon: DaemonProcess,
    client: httpx2.AsyncClient,
    path: str,
    state: State,
    number: signal.Signals,
    told: list[float],
) -> None:
    await _reach(daemon, client, path, state)
    session, dead = path.rpartition("/")[2], set[int]()
    async with anyio.create_task_group() as tasks:
        if state.then == "cancel":
            tasks.start_soon(client.post, f"{path}/cancel")

        killed = time.monotonic()
        with anyio.fail_after(LIMIT_SECONDS):  # a turn whose agent died before any output is given to a new agent
            while b'"turn.ended"' not in b"".join(await log_of(client, path)) or (state.idle and not dead):
                for pid in set(_leaders(daemon, session)) - dead:
                    killed = time.monotonic()
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)
                    dead.add(pid)
                await asyncio.sleep(0.02)
        if not state.idle:
            told.append(time.monotonic() - killed)
    if not state.ready:
        await client.post(f"{path}/terminate")
        await check_rules(client, path)
        return
    await client.post(f"{path}/messages", json={"message": "[hello]"})
    await at_rest(client, path)
    log = await check_rules(client, path)
    whole = b"".join(log)
    assert whole.count(b'"type":"error"') <= len(dead), f"{path}: the death is reported more than once"
    assert whole.count(b'"turn.ended"') == 2, f"{path}: the next message had no turn"
    assert whole.count(b'"stop_reason":"end_turn"') >= 1, f"{path} is not usable"
    await client.post(f"{path}/terminate")

    async def gone() -> bool:
        return not agents_of(daemon, session)

    await _until(gone)


def _leaders(daemon: DaemonProcess, session: str) -> list[int]:
    """The agent itself, without the process that started it and the programs that it started."""
    return [pid for pid in agents_of(daemon, session) if _is_agent(pid)]


def _is_agent(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"hostile_agent" in words and b"runtime.entry" not in words


async def _until(met: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while not await met():
            await asyncio.sleep(0.02)
