"""Kills the daemon under load again and again: what clients saw is in the log afterwards, in order and once.

`make torture` runs it with 1,000 kills and prints its progress and its result.
"""

import asyncio
import os
import random
import statistics
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import msgspec
import pytest
from tests.waiting import LIMIT_SECONDS

from everyagent.testing.daemon import NO_TLS, DaemonProcess
from everyagent.testing.rules import Rules

pytestmark = pytest.mark.anyio

#: Set by `make torture`; without it there are fewer kills, and no progress is printed.
WANTED = os.environ.get("EVERYAGENT_KILLS")
KILLS = int(WANTED or "100")
PROGRESS_EVERY = 50
SESSIONS = [f"session-{number}" for number in range(4)]
PROMPTS = [
    "[text words=40]",
    "hello [tool name=bash command='echo hi']",
    "[ask] [hello]",
    "[reasoning] [flood events=300 size=50]",
    "[question]",
]


class Head(msgspec.Struct):
    sequence: int
    type: str


class Witness:
    """The events that clients of one session received, and the messages that the daemon accepted."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.bodies: list[bytes] = []
        self.accepted: list[str] = []

    def saw(self, body: bytes) -> None:
        head = msgspec.json.decode(body, type=Head)
        assert head.sequence == len(self.bodies) + 1, f"after {len(self.bodies)} came {head.sequence}"
        self.bodies.append(body)


async def frames(response: httpx2.Response) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in response.aiter_raw():
        *whole, rest = (rest + piece).split(b"\n\n")
        for frame in whole:
            for line in frame.split(b"\n"):
                if line.startswith(b"data: "):
                    yield line[6:]


async def watch(client: httpx2.AsyncClient, witness: Witness) -> None:
    url = f"/v1/sessions/{witness.session_id}/events/sse?offset={len(witness.bodies)}"
    async with client.stream("GET", url, timeout=None) as response:
        assert response.status_code == 200
        async for body in frames(response):
            witness.saw(body)


async def talk(client: httpx2.AsyncClient, witness: Witness, chance: random.Random) -> None:
    """Sends messages and answers asks until the daemon is gone."""
    path = f"/v1/sessions/{witness.session_id}"
    while True:
        answer = await client.post(f"{path}/messages", json={"message": chance.choice(PROMPTS)})
        assert answer.status_code == 204, answer.text
        witness.accepted.append(answer.headers["x-item-id"])
        for _ in range(10):
            await answer_asks(client, path)
            await asyncio.sleep(0.01)


async def answer_asks(client: httpx2.AsyncClient, path: str) -> None:
    for ask in (await client.get(f"{path}/asks")).json()["asks"]:
        if ask["kind"] == "permission":
            reply = await client.post(f"{path}/permissions/{ask['askId']}/reply", json={"reply": "once"})
        else:
            reply = await client.post(f"{path}/questions/{ask['askId']}/reply", json={"answers": [["a"], ["b"]]})
        assert reply.status_code in (204, 404, 409), reply.text


async def until_killed(daemon: DaemonProcess, witnesses: list[Witness], chance: random.Random) -> None:
    async def guarded(work: object, *args: object) -> None:
        try:
            await work(*args)  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
        except httpx2.TransportError:
            return

    async with (
        httpx2.AsyncClient(base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS) as client,
        anyio.create_task_group() as tasks,
    ):
        for witness in witnesses:
            tasks.start_soon(guarded, watch, client, witness)
            tasks.start_soon(guarded, talk, client, witness, chance)
        await kill_at_random(daemon, witnesses, chance)


async def kill_at_random(daemon: DaemonProcess, witnesses: list[Witness], chance: random.Random) -> None:
    """Kills it after some events and a moment, so that each life of the daemon does work on a slow machine, too."""
    wanted = events_seen(witnesses) + chance.randrange(80)
    with anyio.fail_after(LIMIT_SECONDS):
        while events_seen(witnesses) < wanted:
            await asyncio.sleep(0.005)
    await asyncio.sleep(chance.uniform(0, 0.2))
    daemon.kill()


def events_seen(witnesses: list[Witness]) -> int:
    return sum(len(witness.bodies) for witness in witnesses)


async def log_of(client: httpx2.AsyncClient, session_id: str) -> list[bytes]:
    bodies: list[bytes] = []
    while True:
        page = await client.get(f"/v1/sessions/{session_id}/events?limit=5000&offset={len(bodies)}")
        events = msgspec.json.decode(page.content, type=Page)
        bodies += [bytes(event) for event in events.events]
        if not events.hasMore:
            return bodies


class Page(msgspec.Struct):
    events: list[msgspec.Raw]
    hasMore: bool


async def sequences_of_frames(client: httpx2.AsyncClient, session_id: str) -> list[int]:
    """The events that the stored frames name: a step is stored with its frames, or not at all."""
    sequences: list[int] = []
    after = 0
    while True:
        page = (await client.get(f"/v1/sessions/{session_id}/frames?limit=1000&offset={after}")).json()
        for frame in page["frames"]:
            sequences += frame["sequences"]
            after = frame["number"]
        if not page["hasMore"]:
            return sequences


async def at_rest(client: httpx2.AsyncClient, session_id: str) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while True:
            info = (await client.get(f"/v1/sessions/{session_id}")).json()
            if info["status"] in ("idle", "hibernated") and not info["queuedMessages"]:
                return
            await answer_asks(client, f"/v1/sessions/{session_id}")
            await asyncio.sleep(0.05)


def agents_of(daemon: DaemonProcess) -> list[int]:
    """Agent processes of this daemon, found by the scratch folders in their environment."""
    found: list[int] = []
    mark = str(daemon.data_dir).encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if mark in environment and b"EVERYAGENT_SPAWN=" in environment:
                found.append(int(entry.name))
    return found


async def check_session(client: httpx2.AsyncClient, witness: Witness) -> int:
    """Compares the log of a session with what its clients saw. Returns the number of turns that kills cut."""
    await at_rest(client, witness.session_id)
    log = await log_of(client, witness.session_id)
    assert log[: len(witness.bodies)] == witness.bodies
    rules = Rules()
    for body in log:
        rules.feed_body(body)
    assert rules.finish() == []
    assert await sequences_of_frames(client, witness.session_id) == list(range(1, len(log) + 1))
    assert (await client.get(f"/v1/sessions/{witness.session_id}/asks")).json()["asks"] == []
    whole = b"\n".join(log)
    cut = whole.count(b'"daemon_restarted":true')
    assert whole.count(b'"stop_reason":"error"') >= cut
    for item_id in witness.accepted:
        assert whole.count(b'"input_item_ids":["%b"]' % item_id.encode()) == 1, f"{item_id} was lost or doubled"
    return cut


async def test_kill_9_loses_nothing_that_a_client_saw(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def show(line: str) -> None:
        if WANTED:
            with capfd.disabled():
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()

    chance = random.Random(20260101)
    daemon = DaemonProcess(tmp_path / "data", "--default-agent", "mock")
    witnesses = [Witness(session_id) for session_id in SESSIONS]
    daemon.start()
    async with httpx2.AsyncClient(
        base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS
    ) as client:
        for session_id in SESSIONS:
            created = await client.post(f"/v1/sessions/{session_id}", json={"directory": str(tmp_path)})
            assert created.status_code == 200, created.text
    starts: list[float] = []
    for kill in range(1, KILLS + 1):
        await until_killed(daemon, witnesses, chance)
        starts.append(daemon.start())
        if kill % PROGRESS_EVERY == 0:
            show(f"{kill:,} of {KILLS:,} kills, {events_seen(witnesses):,} events seen")
    async with httpx2.AsyncClient(
        base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS
    ) as client:
        cut = sum([await check_session(client, witness) for witness in witnesses])
    assert cut > 0, "no turn was ever cut"
    daemon.kill()
    with anyio.fail_after(LIMIT_SECONDS):
        while agents_of(daemon):
            await asyncio.sleep(0.05)
    seen, accepted = events_seen(witnesses), sum(len(witness.accepted) for witness in witnesses)
    show(
        f"{KILLS:,} kills: {seen:,} events and {accepted:,} messages, {cut:,} turns cut; nothing was lost, repeated or "
        f"out of order, and no agent was left. A restart took {statistics.median(starts):.2f} s (median)."
    )
