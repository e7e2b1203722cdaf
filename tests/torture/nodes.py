"""Row: nodes of a cluster killed, paused beyond their lease, and stopped, under load. Nothing is lost or doubled."""

import asyncio
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable

import anyio
import httpx2
import psutil

from tests.cluster.nodes import NodeProcess, cluster
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
from tests.torture.row import Outcome, Run
from tests.waiting import LIMIT_SECONDS

NODES = 3
PROMPTS = ["[text words=30]", "hello [tool name=bash command='echo hi']", "[flood events=100 size=50]", "[ask] [hello]"]
KINDS = ("kill", "pause", "stop")


class NodeTorture:
    """Sessions whose messages go to any node, and which are read on all of them."""

    def __init__(self, nodes: list[NodeProcess], sessions: int, seed: int) -> None:
        self.chance = random.Random(seed)
        self.nodes = nodes
        self.witnesses = [Witness(f"session-{number}") for number in range(sessions)]
        self.faults: Counter[str] = Counter()
        self.moved: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self.refused = 0
        self._made = 0
        self._talking = True

    async def prepare(self) -> None:
        for number, witness in enumerate(self.witnesses):
            node = self.nodes[number % NODES]
            async with client_of(node) as client:
                await create(client, node, witness.path)

    async def run(self, kinds: list[str], over: Callable[[], bool], step: Callable[[], None]) -> int:
        """Injects faults. Returns how many were left out for lack of time."""
        async with anyio.create_task_group() as readers:
            for witness in self.witnesses:
                for node in self.nodes:
                    readers.start_soon(self._read, witness, node)
            async with anyio.create_task_group() as talkers:
                for witness in self.witnesses:
                    talkers.start_soon(self._talk, witness)
                for number, kind in enumerate(kinds):
                    if over():
                        break
                    await self._inject(kind, self.nodes[number % NODES])
                    self.faults[kind] += 1
                    step()
                self._talking = False
            await self._check()
            readers.cancel_scope.cancel()
        return len(kinds) - self.faults.total()

    async def _inject(self, kind: str, node: NodeProcess) -> None:
        """Waits until another node has taken over a session whose turn was running on this one, and takes messages."""
        made = f"/v1/sessions/hanging-{self.faults.total()}"
        async with client_of(node) as client:
            await create(client, node, made)
            sent = await client.post(f"{made}/messages", json={"message": "[hang]"})
            assert sent.status_code == 204, sent.text
            await _until_status(client, made, "running")
        agents = await _agents(node, made.rpartition("/")[2])
        other = next(each for each in self.nodes if each is not node)
        async with client_of(other) as client:
            began = time.monotonic()
            if kind == "kill":
                node.kill()
            elif kind == "pause":
                node.pause()
            else:
                node.terminate()
            await _until_taken(client, made, f"taken-{self.faults.total()}")
            self.moved[kind].append(time.monotonic() - began)
            if kind == "pause":
                node.resume()
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
                    except httpx2.TransportError:
                        self.refused += 1
                        continue
                assert answer.status_code == 503, answer.text
                assert answer.headers["retry-after"]
                self.refused += 1
                await asyncio.sleep(0.1)
            await asyncio.sleep(self.chance.uniform(0.1, 0.5))

    async def _answer(self, client: httpx2.AsyncClient, witness: Witness) -> None:
        try:
            await answer_asks(client, witness.path)
        except (AssertionError, KeyError):
            return  # its node is being taken over; `at_rest` answers what is left

    async def _read(self, witness: Witness, node: NodeProcess) -> None:
        """Reads on one node, and takes up after each cut where it was."""
        position = 0
        while True:
            try:
                async with (
                    client_of(node) as client,
                    client.stream("GET", f"{witness.path}/events/sse?offset={position}", timeout=None) as response,
                ):
                    if response.status_code == 503:
                        continue
                    assert response.status_code == 200, await response.aread()
                    async for body in sse_bodies(response):
                        witness.saw(position, body)
                        position += 1
            except httpx2.TransportError:
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
                while len(witness.bodies) < len(logs[0]):
                    await asyncio.sleep(0.02)


async def _until_status(client: httpx2.AsyncClient, path: str, *wanted: str) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while (await client.get(path)).json().get("status") not in wanted:
            await asyncio.sleep(0.02)


async def _until_taken(client: httpx2.AsyncClient, path: str, key: str) -> None:
    """Until another node acknowledges a message, which the session's old owner cannot."""
    with anyio.fail_after(LIMIT_SECONDS):
        while True:
            headers = {"idempotency-key": key}
            answer = await client.post(f"{path}/messages", json={"message": "[hello]"}, headers=headers)
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


async def run(run: Run) -> Outcome:
    rounds = run.pick(1, 30)
    kinds = [kind for _ in range(rounds) for kind in KINDS]
    run.announce(len(kinds))
    server = PostgresServer(durable=run.size == "full")
    server.start()
    try:
        with cluster(run.folder, server.new_schema(), NODES) as nodes:
            torture = NodeTorture(nodes, run.pick(6, 30), seed=20260102)
            await torture.prepare()
            left = await torture.run(kinds, lambda: run.over, run.step)
    finally:
        server.close()
    outcome = Outcome(faults=torture.faults.total())
    if left:
        outcome.partial.append(f"the last {left} of {len(kinds)} faults, for lack of time")
    messages = sum(len(witness.accepted) for witness in torture.witnesses)
    events = sum(len(witness.bodies) for witness in torture.witnesses)
    outcome.figures = {
        "faults": ", ".join(f"{count} {kind}" for kind, count in sorted(torture.faults.items())),
        "seen": f"{events:,} events by a reader on each node, {messages:,} messages, {torture.refused:,} sent again",
        "lost, repeated, reordered": "0",
    }
    for kind, seconds in torture.moved.items():
        if seconds:
            figure = f"median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s"
            outcome.figures[f"first message taken elsewhere after {kind}"] = figure
    return outcome
