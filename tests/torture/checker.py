"""Checks the invariants of sessions against what their clients saw. Used by every row with a daemon."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import msgspec

from everyagent.testing.daemon import NO_TLS, DaemonProcess
from everyagent.testing.rules import Rules
from tests.waiting import LIMIT_SECONDS


class _Ids(msgspec.Struct):
    turn_id: str = ""


class _Head(msgspec.Struct):
    sequence: int
    type: str
    data: _Ids


class _Page(msgspec.Struct, rename="camel"):
    events: list[msgspec.Raw]
    has_more: bool


#: A variable of each session that these rows create.
MARK = "TORTURE_SESSION"

_heads = msgspec.json.Decoder(_Head)


class Witness:
    """The events that clients of one session received, the turns that were open, and accepted messages."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.bodies: list[bytes] = []
        self.open: set[str] = set()
        self.ended_turns = 0
        #: Item ids of acknowledged messages.
        self.accepted: list[str] = []
        #: A message whose answer did not arrive, and its idempotency key.
        self.unanswered: tuple[str, str] | None = None

    @property
    def path(self) -> str:
        return f"/v1/sessions/{self.session_id}"

    def saw(self, position: int, body: bytes) -> None:
        """A reader that had `position` events received `body`."""
        head = _heads.decode(body)
        assert head.sequence == position + 1, f"{self.session_id}: after {position} came {head.sequence}"
        if position < len(self.bodies):
            assert self.bodies[position] == body, f"{self.session_id}: two readers got different events {position + 1}"
            return
        self.bodies.append(body)
        if head.type == "turn.started":
            self.open.add(head.data.turn_id)
        elif head.type == "turn.ended":
            self.open.discard(head.data.turn_id)
            self.ended_turns += 1


def client_of(daemon: DaemonProcess) -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=None)
    return httpx2.AsyncClient(
        base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS, limits=limits
    )


async def sse_bodies(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The data of server-sent events."""
    rest = b""
    async for piece in response.aiter_raw():
        *whole, rest = (rest + piece).split(b"\n\n")
        for frame in whole:
            for line in frame.split(b"\n"):
                if line.startswith(b"data: "):
                    yield line[6:]


async def read(client: httpx2.AsyncClient, witness: Witness, position: int) -> None:
    """Follows a session after `position` until the connection ends."""
    async with client.stream("GET", f"{witness.path}/events/sse?offset={position}", timeout=None) as response:
        assert response.status_code == 200
        async for body in sse_bodies(response):
            witness.saw(position, body)
            position += 1


async def answer_asks(client: httpx2.AsyncClient, path: str) -> None:
    """Answers all open asks. An answer that comes too late is a 404 or 409, never a success."""
    listed = await client.get(f"{path}/asks")
    for ask in [] if listed.status_code == 503 else listed.json()["asks"]:
        if ask["kind"] == "permission":
            reply = await client.post(f"{path}/permissions/{ask['askId']}/reply", json={"reply": "once"})
        else:
            reply = await client.post(f"{path}/questions/{ask['askId']}/reply", json={"answers": [["a"], ["b"]]})
        assert reply.status_code in (204, 404, 409, 503), reply.text


async def at_rest(client: httpx2.AsyncClient, path: str) -> None:
    """Waits until the session has no turn, no queue and no ask. A 503 says to try again."""
    with anyio.fail_after(LIMIT_SECONDS):
        while True:
            answer = await client.get(path)
            info = {"status": "unknown"} if answer.status_code == 503 else answer.json()
            if info["status"] in ("idle", "hibernated", "ended") and not info["queuedMessages"]:
                return
            await answer_asks(client, path)
            await asyncio.sleep(0.02)


async def log_of(client: httpx2.AsyncClient, path: str) -> list[bytes]:
    bodies: list[bytes] = []
    while True:
        answer = await client.get(f"{path}/events?limit=5000&offset={len(bodies)}")
        assert answer.status_code == 200, answer.text
        page = msgspec.json.decode(answer.content, type=_Page)
        bodies += [bytes(event) for event in page.events]
        if not page.has_more:
            return bodies


async def sequences_of_frames(client: httpx2.AsyncClient, path: str) -> list[int]:
    """The events that the stored frames name: a step is stored with its frames, or not at all."""
    sequences: list[int] = []
    after = 0
    while True:
        page = (await client.get(f"{path}/frames?limit=1000&offset={after}")).json()
        for frame in page["frames"]:
            sequences += frame["sequences"]
            after = frame["number"]
        if not page["hasMore"]:
            return sequences


async def check_rules(client: httpx2.AsyncClient, path: str) -> list[bytes]:
    """The log of a session at rest, which keeps all order rules and has no open ask."""
    log = await log_of(client, path)
    rules = Rules()
    for body in log:
        rules.feed_body(body)
    violations = [str(each) for each in rules.finish()]
    assert violations == [], violations
    assert (await client.get(f"{path}/asks")).json()["asks"] == []
    return log


async def check_session(client: httpx2.AsyncClient, witness: Witness) -> int:
    """Compares a session's log with what its clients saw. Returns the number of turns that a kill ended."""
    await at_rest(client, witness.path)
    seen = list(witness.bodies)
    log = await check_rules(client, witness.path)
    assert log[: len(seen)] == seen, f"{witness.session_id}: seen events are not in the log"
    assert await sequences_of_frames(client, witness.path) == list(range(1, len(log) + 1))
    whole = b"\n".join(log)
    cut = whole.count(b'"daemon_restarted":true')
    assert whole.count(b'"stop_reason":"error"') >= cut
    for item_id in witness.accepted:
        assert whole.count(b'"input_item_ids":["%b"]' % item_id.encode()) == 1, f"{item_id} was lost or doubled"
    return cut


def mark_of(daemon: DaemonProcess, session_id: str = "") -> str:
    """In the environment of each session's processes, so that they can be found."""
    return f"{daemon.data_dir}/{session_id}"


async def create(client: httpx2.AsyncClient, daemon: DaemonProcess, path: str, **env: str) -> None:
    """Creates a session in the folder of the daemon's data folder."""
    marked = {MARK: mark_of(daemon, path.rpartition("/")[2]), **env}
    created = await client.post(path, json={"directory": str(daemon.data_dir.parent), "env": marked})
    assert created.status_code == 200, created.text


def agents_of(daemon: DaemonProcess, session_id: str = "") -> list[int]:
    """Processes of all agents of this daemon, or of one session: the agents and what they started."""
    mark = f"{MARK}={mark_of(daemon, session_id)}".encode()
    found: list[int] = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            variables = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(each == mark if session_id else each.startswith(mark) for each in variables):
            found.append(int(name))
    return found


async def no_agents_left(daemon: DaemonProcess) -> float:
    """Seconds until no agent of a dead daemon runs."""
    began = time.monotonic()
    with anyio.fail_after(LIMIT_SECONDS):
        while agents_of(daemon):
            await asyncio.sleep(0.02)
    return time.monotonic() - began
