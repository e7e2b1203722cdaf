"""Row: a cluster under load whose nodes, database and NATS server are killed, paused, stopped and cut off.

Nothing is lost or doubled.
"""

import asyncio
import random
import signal
import statistics
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import psutil

from everyagent.dev_cluster.nats import NatsServer
from tests.cluster.nodes import NodeProcess, cluster_of
from tests.postgres.proxy import CuttingProxy, cutting_proxy
from tests.postgres.server import PostgresServer
from tests.torture.checker import (
    Witness,
    agents_of,
    answer_asks,
    at_rest,
    check_session,
    client_of,
    create,
    log_of,
    sse_bodies,
)
from tests.torture.row import Outcome, Run, missed
from tests.waiting import LIMIT_SECONDS

NODES = 3
PROMPTS = ["[text words=30]", "hello [tool name=bash command='echo hi']", "[flood events=100 size=50]", "[ask] [hello]"]
#: Faults of one node at a time, or of two at once. `KINDS` move sessions to another node.
FAULTS = (("kill",), ("pause", "cut"), ("stop",), ("nats",), ("database",), ("cut from nats",))
KINDS = ("kill", "pause", "cut", "stop")
#: Within so many seconds, another node takes a message: at once when a session is handed over, else after a lease.
LIMITS = {"kill": 15.0, "pause": 15.0, "cut": 15.0, "stop": 1.0}
#: A session is sent no message while so many wait for the end of their turns.
MOST_WAITING = 5
#: How long a server is away, or a node cut off from NATS.
AWAY_SECONDS = 1.0


class NodeTorture:
    """Sessions whose messages go to any node, and which are read on all of them."""

    def __init__(self, servers: "Servers | None", nodes: list[NodeProcess], sessions: int, seed: int) -> None:
        self.chance = random.Random(seed)
        self._servers = servers
        self.nodes = nodes
        self.witnesses = [Witness(f"session-{number}") for number in range(sessions)]
        #: What the reader of a session on a node has received, by both.
        self.positions: Counter[tuple[str, str]] = Counter()
        self.faults: Counter[str] = Counter()
        self.moved: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self.refused = 0
        self._made = 0
        self._talking = True

    @property
    def servers(self) -> "Servers":
        assert self._servers is not None
        return self._servers

    def seen(self) -> dict[str, str]:
        """Figures of the report."""
        messages = sum(len(witness.accepted) for witness in self.witnesses)
        events = sum(len(witness.bodies) for witness in self.witnesses)
        return {
            "faults": ", ".join(f"{count} {kind}" for kind, count in sorted(self.faults.items())),
            "seen": f"{events:,} events by a reader on each node, {messages:,} messages, {self.refused:,} sent again",
            "lost, repeated, reordered": "0",
        }

    async def prepare(self) -> None:
        for number, witness in enumerate(self.witnesses):
            node = self.nodes[number % NODES]
            async with client_of(node) as client:
                await create(client, node, witness.path)

    async def run(self, rounds: list[tuple[str, ...]], over: Callable[[], bool], step: Callable[[], None]) -> int:
        """Injects faults. Returns how many were left out for lack of time."""
        async with anyio.create_task_group() as readers:
            for witness in self.witnesses:
                for node in self.nodes:
                    readers.start_soon(self._read, witness, node)
            async with anyio.create_task_group() as talkers:
                for witness in self.witnesses:
                    talkers.start_soon(self._talk, witness)
                for number, kinds in enumerate(rounds):
                    if over():
                        break
                    rotated = self.nodes[number % NODES :] + self.nodes[: number % NODES]
                    async with anyio.create_task_group() as faults:
                        for kind, node in zip(kinds, rotated, strict=False):
                            faults.start_soon(self._inject, kind, node, rotated[-1])
                    step()
                self._talking = False
            await self._check()
            readers.cancel_scope.cancel()
        return sum(map(len, rounds)) - self.faults.total()

    async def _inject(self, kind: str, node: NodeProcess, other: NodeProcess) -> None:
        """`other` stays as it is."""
        self.faults[kind] += 1
        if kind == "nats":
            self.servers.nats.end(signal.SIGKILL)
            await asyncio.sleep(AWAY_SECONDS)
            await asyncio.to_thread(self.servers.nats.start)
        elif kind == "cut from nats":
            await self._cut_from_nats(node)
        elif kind == "database":
            await asyncio.to_thread(self.servers.postgres.kill)
            await self._refused_without_the_database(node)
            await asyncio.to_thread(self.servers.postgres.start)
        else:
            await self._move(kind, node, other)

    async def _cut_from_nats(self, node: NodeProcess) -> None:
        proxy = self.servers.to_nats[self.nodes.index(node)]
        proxy.closed = True
        proxy.drop()
        await asyncio.sleep(AWAY_SECONDS)
        proxy.closed = False

    async def _refused_without_the_database(self, node: NodeProcess) -> None:
        """Commands have no effect and say when to try again; the node itself is well."""
        async with client_of(node) as client:
            answer = await client.post("/v1/sessions/not-now", json={})
            assert (answer.status_code, bool(answer.headers["retry-after"])) == (503, True), answer.text
            assert (await client.get("/v1/health")).status_code == 200

    async def _move(self, kind: str, node: NodeProcess, other: NodeProcess) -> None:
        """Waits until another node has taken over a session whose turn was running on this one, and takes messages."""
        made = f"/v1/sessions/hanging-{self.faults.total()}-{kind}"
        proxy = self.servers.to_postgres[self.nodes.index(node)]
        async with client_of(node) as client:
            await create(client, node, made)
            await _until_taken(client, made, "[hang]")
            await _until_status(client, made, "running")
        agents = await _agents(node, made.rpartition("/")[2])
        async with client_of(other) as client:
            began = time.monotonic()
            if kind == "kill":
                node.kill()
            elif kind == "pause":
                node.pause()
            elif kind == "cut":
                proxy.closed = True
                proxy.drop()
            else:
                node.terminate()
            await _until_taken(client, made, "[hello]")
            self.moved[kind].append(time.monotonic() - began)
            if kind in ("pause", "cut"):
                node.resume()
                proxy.closed = False
                await _until_gone(agents)
            else:
                await asyncio.to_thread(node.stop)
                await asyncio.to_thread(node.start, port=node.port)
            await at_rest(client, made)
            whole = b"\n".join(await log_of(client, made))
            assert (whole.count(b'"turn.started"'), whole.count(b'"turn.ended"')) == (2, 2), f"{kind}: {whole!r}"

    async def _talk(self, witness: Witness) -> None:
        """Sends each message until it is acknowledged, each time to any node, with the same key."""
        while self._talking:
            if len(witness.accepted) - witness.ended_turns > MOST_WAITING:
                async with client_of(self.chance.choice(self.nodes)) as client:
                    await self._answer(client, witness)
                await asyncio.sleep(0.1)
                continue
            self._made += 1
            key, text = f"message-{self._made}", self.chance.choice(PROMPTS)
            while True:
                async with client_of(self.chance.choice(self.nodes)) as client:
                    try:
                        answer = await client.post(
                            f"{witness.path}/messages", json={"message": text}, headers={"idempotency-key": key}
                        )
                        if answer.status_code == 204:
                            witness.accepted.append(answer.headers["x-item-id"])
                            await self._answer(client, witness)
                            break
                        assert answer.status_code == 503, answer.text
                        assert answer.headers["retry-after"]
                    except httpx2.TransportError:  # the node is dead
                        pass
                self.refused += 1
                await asyncio.sleep(0.1)
            await asyncio.sleep(self.chance.uniform(0.1, 0.5))

    async def _answer(self, client: httpx2.AsyncClient, witness: Witness) -> None:
        try:
            await answer_asks(client, witness.path)
        except httpx2.TransportError:
            return  # the node is dead; `at_rest` answers what is left

    async def _read(self, witness: Witness, node: NodeProcess) -> None:
        """Reads on one node, and takes up after each cut where it was."""
        reader = witness.session_id, node.url
        while True:
            path = f"{witness.path}/events/sse?offset={self.positions[reader]}"
            try:
                async with (
                    client_of(node) as client,
                    client.stream("GET", path, timeout=None) as response,
                ):
                    assert response.status_code in (200, 503), await response.aread()
                    async for body in sse_bodies(response):  # a 503 has none
                        witness.saw(self.positions[reader], body)
                        self.positions[reader] += 1
            except httpx2.TransportError:  # the node is dead
                pass
            await asyncio.sleep(0.05)

    async def _check(self) -> None:
        for witness in self.witnesses:
            logs: list[list[bytes]] = []
            for node in self.nodes:
                async with client_of(node) as client:
                    await check_session(client, witness)
                    logs.append(await log_of(client, witness.path))
            assert logs[0] == logs[1] == logs[2]
            with anyio.fail_after(LIMIT_SECONDS):
                while any(self.positions[witness.session_id, node.url] < len(logs[0]) for node in self.nodes):
                    await asyncio.sleep(0.02)


async def _until_status(client: httpx2.AsyncClient, path: str, *wanted: str) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while (await client.get(path)).json().get("status") not in wanted:
            await asyncio.sleep(0.02)


async def _until_taken(client: httpx2.AsyncClient, path: str, message: str) -> None:
    """Until a node acknowledges the message. The old owner of a session that was taken over cannot."""
    with anyio.fail_after(LIMIT_SECONDS):
        while True:
            headers = {"idempotency-key": f"{path}{message}"}
            answer = await client.post(f"{path}/messages", json={"message": message}, headers=headers)
            if answer.status_code == 204:
                return
            assert answer.status_code == 503, answer.text
            await asyncio.sleep(0.02)


async def _agents(node: NodeProcess, session_id: str) -> list[int]:
    with anyio.fail_after(LIMIT_SECONDS):
        while not (found := agents_of(node, session_id)):
            await asyncio.sleep(0.02)
    return found


async def _until_gone(processes: list[int]) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while any(psutil.pid_exists(each) for each in processes):
            await asyncio.sleep(0.02)


class Servers:
    """The database and NATS, each with a proxy in front of it for each node."""

    def __init__(self, folder: Path, *, durable: bool) -> None:
        self.postgres = PostgresServer(durable=durable)
        folder.mkdir()
        self.nats = NatsServer(folder)
        self.to_postgres: list[CuttingProxy] = []
        self.to_nats: list[CuttingProxy] = []

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[list[tuple[str, str, str]]]:
        """The settings of each node."""
        async with AsyncExitStack() as at_the_end:
            at_the_end.callback(self.postgres.close)
            self.postgres.start()
            at_the_end.callback(self.nats.stop)
            self.nats.start()
            store = self.postgres.new_schema()
            for _ in range(NODES):
                self.to_postgres.append(await at_the_end.enter_async_context(cutting_proxy(self.postgres.port)))
                self.to_nats.append(await at_the_end.enter_async_context(cutting_proxy(self.nats.port)))
            yield [
                (
                    store.replace(f":{self.postgres.port}/", f":{to_store.port}/"),
                    "--bus",
                    f"nats://127.0.0.1:{to_bus.port}",
                )
                for to_store, to_bus in zip(self.to_postgres, self.to_nats, strict=True)
            ]


def too_late(moved: Mapping[str, Sequence[float]]) -> list[str]:
    """What took longer than its limit."""
    return [
        line for kind, seconds in moved.items() for line in missed(f"first message after {kind}", seconds, LIMITS[kind])
    ]


async def run(run: Run) -> Outcome:
    rounds = [kinds for _ in range(run.pick(1, 30)) for kinds in FAULTS]
    run.announce(len(rounds))
    servers = Servers(run.folder / "nats", durable=run.size == "full")
    async with servers.running() as settings:
        # The nodes reach their servers through proxies in this event loop.
        running = cluster_of(run.folder, settings)
        nodes = await asyncio.to_thread(running.__enter__)
        try:
            torture = NodeTorture(servers, nodes, run.pick(6, 30), seed=20260102)
            await torture.prepare()
            left = await torture.run(rounds, lambda: run.over, run.step)
        finally:
            await asyncio.to_thread(running.__exit__, None, None, None)
    outcome = Outcome(faults=torture.faults.total())
    if left:
        outcome.partial.append(f"the last {left} of {left + outcome.faults} faults, for lack of time")
    outcome.figures = torture.seen()
    for kind, seconds in torture.moved.items():
        if seconds:
            figure = f"median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s"
            outcome.figures[f"first message taken elsewhere after {kind}"] = figure
    outcome.missed = too_late(torture.moved)
    return outcome
