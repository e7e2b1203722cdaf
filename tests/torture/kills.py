"""Row: kill -9 of the daemon under load, at random and at failpoints. All that clients saw is in the log, once."""

import asyncio
import random
import statistics
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
import httpx2

from everyagent.testing.daemon import DaemonProcess
from tests.torture.checker import (
    Witness,
    agents_of,
    answer_asks,
    check_session,
    client_of,
    create,
    no_agents_left,
    read,
)
from tests.torture.failing_daemon import POINTS, VARIABLE
from tests.torture.row import Outcome, Run, missed
from tests.waiting import LIMIT_SECONDS

SESSIONS = 20
READERS = 50
#: Sessions that get messages in one life of the daemon: each starts an agent.
BUSY = 4
ROOT = Path(__file__).parents[2]
PROMPTS = [
    "[text words=40]",
    "hello [tool name=bash command='echo hi']",
    "[ask] [hello]",
    "[reasoning] [flood events=300 size=50]",
    "[flood events=1 size=300000]",
    "[question]",
]


class Torture:
    """One daemon, killed again and again, and the clients that watch it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.daemon = DaemonProcess(
            folder / "data",
            "--default-agent",
            "mock",
            environment={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
            module="tests.torture.failing_daemon",
        )
        self.witnesses = [Witness(f"session-{number}") for number in range(SESSIONS)]
        self.deleted: list[str] = []
        self.starts: list[float] = []
        self.resolved: list[float] = []
        self.points: Counter[str] = Counter()
        self._folder = folder
        self._made = 0

    @property
    def seen(self) -> int:
        return sum(len(witness.bodies) for witness in self.witnesses)

    async def prepare(self) -> None:
        self.daemon.start()
        async with client_of(self.daemon) as client:
            for witness in self.witnesses:
                await create(client, self.daemon, witness.path)

    def restart(self, point: str) -> None:
        """Starts the daemon so that it dies at `point`. In recovery, it dies before it is ready, and starts again."""
        most = {"in recovery": 2, "in deletion": 2, "in a blob write": 4, "in a checkpoint": 60}.get(point, 40)
        environment = self.daemon.environment
        if point:
            environment[VARIABLE] = f"{point}:{self.chance.randint(1, most)}"
        try:
            self.starts.append(self.daemon.start())
        except AssertionError:
            if self.daemon.alive or not point:
                raise
            self.points[point] += 1
            environment.pop(VARIABLE)
            self.starts.append(self.daemon.start())
        environment.pop(VARIABLE, None)

    async def life(self, *, by_failpoint: bool) -> None:
        """Load until the daemon dies, by its failpoint or by a signal."""
        interrupted = [(witness, set(witness.open)) for witness in self.witnesses if witness.open]
        async with client_of(self.daemon) as client, anyio.create_task_group() as tasks:
            for number in range(READERS):
                tasks.start_soon(_until_dead, partial(self._reader, client, self.witnesses[number % SESSIONS]))
            with anyio.fail_after(LIMIT_SECONDS):
                began = anyio.current_time()
                while self.daemon.alive and any(before & witness.open for witness, before in interrupted):
                    await asyncio.sleep(0.005)
                if self.daemon.alive:
                    self.resolved.append(anyio.current_time() - began)
            for witness in self.chance.sample(self.witnesses, BUSY):
                tasks.start_soon(_until_dead, partial(self._talk, client, witness))
            tasks.start_soon(_until_dead, partial(self._delete, client))
            wanted = self.seen + self.chance.randrange(80)
            pause = self.chance.uniform(0, 0.2)
            with anyio.move_on_after(5.0 if by_failpoint else LIMIT_SECONDS):
                while self.daemon.alive and (by_failpoint or self.seen < wanted):
                    await asyncio.sleep(0.005)
            if self.daemon.alive:
                await asyncio.sleep(pause)
            self.died_by_itself = not self.daemon.alive
            self.daemon.kill()

    async def _reader(self, client: httpx2.AsyncClient, witness: Witness) -> None:
        """Every reader continues somewhere in what was seen, most at its end."""
        behind = self.chance.choice((0, 0, 0, 10))
        await read(client, witness, max(0, len(witness.bodies) - behind))

    async def _talk(self, client: httpx2.AsyncClient, witness: Witness) -> None:
        """Sends messages and answers asks. A message without an answer is sent again with its key."""
        while True:
            if witness.unanswered is None:
                self._made += 1
                witness.unanswered = (self.chance.choice(PROMPTS), f"message-{self._made}")
            text, key = witness.unanswered
            headers = {"idempotency-key": key}
            answer = await client.post(f"{witness.path}/messages", json={"message": text}, headers=headers)
            assert answer.status_code == 204, answer.text
            witness.accepted.append(answer.headers["x-item-id"])
            witness.unanswered = None
            for _ in range(10):
                await answer_asks(client, witness.path)
                await asyncio.sleep(0.01)

    async def _delete(self, client: httpx2.AsyncClient) -> None:
        """Creates and deletes sessions."""
        while True:
            self._made += 1
            path = f"/v1/sessions/doomed-{self._made}"
            await client.post(path, json={"directory": str(self._folder)})
            answer = await client.delete(path)
            assert answer.status_code in (200, 204), answer.text
            self.deleted.append(path)
            await asyncio.sleep(0.05)

    async def start_an_agent(self) -> None:
        async with client_of(self.daemon) as client:
            await client.post(f"{self.witnesses[0].path}/messages", json={"message": "[hang]"})
        with anyio.fail_after(LIMIT_SECONDS):
            while not agents_of(self.daemon):
                await asyncio.sleep(0.02)

    async def check(self) -> int:
        """Checks all sessions. Returns the number of turns that kills ended."""
        async with client_of(self.daemon) as client:
            cut = sum([await check_session(client, witness) for witness in self.witnesses])
            for path in self.deleted:
                assert (await client.get(path)).status_code == 404, f"{path} was deleted and is back"
        return cut


async def run(run: Run) -> Outcome:
    kills = run.pick(36, 1000)
    torture = Torture(run.folder, seed=20260101)
    run.announce(kills)
    await torture.prepare()
    by_name = list(POINTS)
    point = ""
    outcome = Outcome()
    for number in range(kills):
        if run.over:
            outcome.partial.append(f"the last {kills - number:,} of {kills:,} kills, for lack of time")
            break
        await torture.life(by_failpoint=bool(point))
        torture.points[point if point and torture.died_by_itself else "at random"] += 1
        point = by_name[number // 2 % len(by_name)] if number % 2 else ""
        torture.restart(point)
        run.step()
    torture.daemon.kill()
    torture.daemon.start()
    cut = await torture.check()
    await torture.start_an_agent()
    torture.daemon.kill()
    orphans = await no_agents_left(torture.daemon)
    assert cut > 0, "no turn was ever ended by a kill"
    assert set(POINTS) < set(torture.points), f"a failpoint was never reached: {torture.points}"
    messages = sum(len(witness.accepted) for witness in torture.witnesses)
    outcome.faults = sum(torture.points.values())
    outcome.figures = {
        "kills": ", ".join(f"{count} {point}" for point, count in sorted(torture.points.items())),
        "seen": f"{torture.seen:,} events, {messages:,} messages, {cut:,} turns ended by a kill",
        "deleted sessions": f"{len(torture.deleted):,}",
        "lost, repeated, reordered": "0",
        "restart until ready": _spread(torture.starts, limit=2),
        "open turns and asks resolved after ready": _spread(torture.resolved, limit=5),
        "agents gone after the last kill": f"{orphans:.2f} s",
    }
    outcome.missed = [
        *missed("restart until ready", torture.starts, 2),
        *missed("open turns and asks resolved after ready", torture.resolved, 5),
    ]
    return outcome


async def _until_dead(work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except httpx2.TransportError:
        return


def _spread(seconds: list[float], *, limit: float) -> str:
    over = sum(each > limit for each in seconds)
    return f"median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s, {over} over {limit:.0f} s"
