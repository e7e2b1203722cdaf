"""Row: a deterministic simulation of leases, claims and appends, with the real code of a node and a virtual clock.

Nodes crash, pause and lose the database, which itself goes away at times. Each seed is one run, and repeats exactly.
"""

import asyncio
import random
import selectors
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import anyio
from structlog.testing import capture_logs

from everyagent.clock import ClusterClock
from everyagent.cluster.lease import LEASE_SECONDS
from everyagent.cluster.node import Node
from everyagent.errors import LogFenced, StoreUnavailable
from everyagent.log.fanout import News
from everyagent.log.ownership import Beat, Home, NodeInfo, Owner
from everyagent.model.responses import BusStatus
from tests.torture.row import Outcome, Run

NODES = 3
SESSIONS = 5
FAULTS = 4
#: A dead node's sessions have another owner after so many seconds.
TAKEN_OVER_SECONDS = 15.0
#: The clock of a node is set by each of its heartbeats, whose answer travels for less than this.
CLOCK_SECONDS = 1.0
T = TypeVar("T")
_KINDS = ("crash", "pause", "cut", "outage")


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes at once."""

    def __init__(self) -> None:
        self.now = 1000.0
        super().__init__(_VirtualSelector(self))

    def time(self) -> float:
        return self.now


class _VirtualSelector(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found:
            assert timeout is not None, "everything waits for ever"
            self._loop.now += timeout
        return found


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


class _SkewedClock:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def micros(self) -> int:
        return int((_loop_time() + self._seconds) * 1e6)


class Database:
    """The effect of the statements of `log/postgres/`, each at one moment. `skew` is its clock against the loop's."""

    def __init__(self, skew: float) -> None:
        self.away = False
        self.leases: dict[str, float] = {}
        self.owners: dict[int, str] = {}
        self.epochs = dict.fromkeys(range(SESSIONS), 0)
        #: The epoch and the writer of each event.
        self.events: dict[int, list[tuple[int, str]]] = {session: [] for session in range(SESSIONS)}
        self.removed: list[str] = []
        self._skew = skew
        self._joined = 0

    def time(self) -> float:
        return asyncio.get_running_loop().time() + self._skew

    def join(self) -> str:
        self._joined += 1
        node_id = f"node_{self._joined}"
        self.leases[node_id] = self.time() + LEASE_SECONDS
        return node_id

    def beat(self, node_id: str, remove_expired: bool) -> Beat:
        renewed, removed = node_id in self.leases, list[str]()
        if renewed:
            self.leases[node_id] = self.time() + LEASE_SECONDS
        if renewed and remove_expired:
            removed = [each for each, until in self.leases.items() if until < self.time()]
        for each in removed:
            del self.leases[each]
        self.removed += removed
        nodes = [_info(each, until - self.time()) for each, until in self.leases.items()]
        return Beat(renewed, removed, nodes, int(self.time() * 1e6))

    def without_owner(self) -> list[int]:
        return [session for session in range(SESSIONS) if self.owners.get(session) not in self.leases]

    def claim(self, session: int, node_id: str) -> tuple[int, int] | None:
        """The session's new epoch and its head; None if another living node owns it."""
        owner = self.owners.get(session)
        if node_id not in self.leases or (owner != node_id and owner in self.leases):
            return None
        self.owners[session] = node_id
        self.epochs[session] += 1
        return self.epochs[session], len(self.events[session])

    def append(self, session: int, epoch: int, expected: int, writer: str) -> None:
        if epoch != self.epochs[session] or expected != len(self.events[session]):
            raise LogFenced("taken over", len(self.events[session]))
        self.events[session].append((epoch, writer))


def _info(node_id: str, lease_seconds: float) -> NodeInfo:
    return NodeInfo(
        node_id=node_id, name="", url="", version="", started_at=0, lease_seconds=lease_seconds, live_sessions=0
    )


class SimulatedNode:
    """A node: its `Membership`, its log and its sessions, between a real `Node` and the database."""

    def __init__(self, database: Database, chance: random.Random, peers: "list[SimulatedNode]", skew: float) -> None:
        """`skew` is the clock of its machine against that of the loop, in seconds."""
        self.news: list[Callable[[News], None]] = []
        self.node_id = ""
        self.held: dict[int, tuple[int, int]] = {}
        self.cut = False
        self.running = anyio.Event()
        self.running.set()
        self._database = database
        self._chance = chance
        self._peers = peers
        self._skew = skew
        self.clock: ClusterClock | None = None
        self.crash: Callable[[], None] = lambda: None

    @property
    def membership(self) -> "SimulatedNode":
        return self

    @property
    def lag(self) -> int:
        return 0

    def bus(self) -> BusStatus:
        raise AssertionError("no node of the simulation calls this")

    async def run(self) -> None:
        self.news.clear()
        clock = ClusterClock(_SkewedClock(self._skew), elapsed=_loop_time)
        clock.set(await self._ask(lambda: int(self._database.time() * 1e6)))
        self.clock = clock
        await self.join()
        node = Node(
            self,
            b"",
            abandon=self._abandon,
            take_up=self._take_up,
            refresh=self._nothing,
            live_sessions=lambda: len(self.held),
            shared_clock=clock,
            clock=_loop_time,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(node.run)
            tasks.start_soon(self._work)

    async def join(self) -> None:
        self.node_id = await self._ask(self._database.join)

    async def beat(self, *, remove_expired: bool, live_sessions: int, lag: int) -> Beat:
        return await self._ask(lambda: self._database.beat(self.node_id, remove_expired))

    async def leave(self) -> None:
        raise AssertionError("no node of the simulation calls this")

    async def owner(self, session_id: str) -> Owner | None:
        raise AssertionError("no node of the simulation calls this")

    async def home(self, session_id: str) -> Home | None:
        raise AssertionError("no node of the simulation calls this")

    async def without_owner(self, session_ids: Iterable[str]) -> set[str]:
        raise AssertionError("no node of the simulation calls this")

    def announce(self, news: News) -> None:
        """Half of the announcements are lost."""
        for peer in self._peers:
            if peer is not self and self._chance.random() < 0.5:
                for heard in peer.news:
                    heard(news)

    def disown(self) -> None:
        return

    async def _ask(self, statement: Callable[[], T]) -> T:
        """A request: it and its answer take time, a pause delays both, and a cut or an outage loses either."""
        await self._travel()
        found = statement()
        await self._travel()
        return found

    async def _travel(self) -> None:
        await asyncio.sleep(self._chance.choice((0.001, 0.001, 0.01, 0.3)))
        await self.running.wait()
        if self.cut or self._database.away:
            raise StoreUnavailable("cut off")

    async def _abandon(self) -> None:
        self.held.clear()

    async def _nothing(self) -> None:
        return

    async def _take_up(self) -> None:
        for session in self._database.without_owner():
            await self._claim(session)

    async def _claim(self, session: int) -> None:
        node_id = self.node_id
        claimed = await self._ask(lambda: self._database.claim(session, node_id))
        if claimed is not None and node_id == self.node_id:
            self.held[session] = claimed

    async def _work(self) -> None:
        """Appends to the sessions that this node believes to own, and loads those again that it lost."""
        while True:
            await asyncio.sleep(self._chance.uniform(0.1, 1.0))
            with suppress(StoreUnavailable):
                for session, owner in list(self._database.owners.items()):
                    if owner == self.node_id and session not in self.held:
                        await self._claim(session)
            for session, (epoch, head) in list(self.held.items()):
                if self.held.get(session) != (epoch, head):  # abandoned meanwhile
                    continue
                append = partial(self._database.append, session, epoch, head, self.node_id)
                try:
                    await self._ask(append)
                except LogFenced:
                    self.held.pop(session, None)
                except StoreUnavailable:
                    self.held.pop(session, None)  # in doubt: loaded again by a claim
                else:
                    if self.held.get(session) == (epoch, head):
                        self.held[session] = (epoch, head + 1)


class Simulation:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.database = Database(self.chance.choice((0.0, 3600.0, -3600.0)))
        self.nodes: list[SimulatedNode] = []
        for _ in range(NODES):
            skew = self.chance.choice((0.0, 3600.0, -3600.0))
            self.nodes.append(SimulatedNode(self.database, self.chance, self.nodes, skew))
        self.faults: Counter[str] = Counter()
        #: Seconds until the sessions of the first dead node had another owner; the others had long been there.
        self.first = 0.0

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            for node in self.nodes:
                tasks.start_soon(self._life, node)
            await self._owned_by_the_living()
            await asyncio.sleep(2 * LEASE_SECONDS)
            for _ in range(FAULTS):
                await asyncio.sleep(self.chance.uniform(0, 2 * LEASE_SECONDS))
                kind = self.chance.choice(_KINDS)
                self.faults[kind] += 1
                await self._inject(kind, self.chance.choice(self.nodes))
            await self._owned_by_the_living()
            await asyncio.sleep(2 * LEASE_SECONDS)
            self._check()
            tasks.cancel_scope.cancel()

    async def _life(self, node: SimulatedNode) -> None:
        """Runs a node, and starts it anew when it has crashed."""
        while True:
            with anyio.CancelScope() as life:
                node.crash = life.cancel
                with suppress(StoreUnavailable):
                    await node.run()
            node.held.clear()
            await asyncio.sleep(self.chance.uniform(1, 30))

    async def _inject(self, kind: str, node: SimulatedNode) -> None:
        length = self.chance.choice((1.0, 5.0, 8.0, LEASE_SECONDS, 25.0, 60.0))
        if kind == "outage":
            before = len(self.database.removed)
            self.database.away = True
            await asyncio.sleep(length)
            self.database.away = False
            await asyncio.sleep(LEASE_SECONDS)
            assert len(self.database.removed) == before or self.faults.total() > 1, "an outage removed a living node"
            return
        if kind == "crash":
            node.crash()
        elif kind == "pause":
            node.running = anyio.Event()
        else:
            node.cut = True
        if kind == "crash" or length > TAKEN_OVER_SECONDS:
            await self._owned_by_the_living(node.node_id)
        else:
            await asyncio.sleep(length)
        node.running.set()
        node.cut = False

    async def _owned_by_the_living(self, dead: str | None = None) -> None:
        """Until every session has an owner other than the dead one."""
        began = asyncio.get_running_loop().time()
        while not all(
            (owner := self.database.owners.get(session)) in self.database.leases and owner != dead
            for session in range(SESSIONS)
        ):
            await asyncio.sleep(0.05)
            waited = asyncio.get_running_loop().time() - began
            limit = TAKEN_OVER_SECONDS if dead and self.faults.total() == 1 else 60
            assert waited < limit, f"sessions have no living owner after {waited:.0f} seconds"
        if dead and self.faults.total() == 1:
            self.first = asyncio.get_running_loop().time() - began

    def _check(self) -> None:
        for session, events in self.database.events.items():
            epochs = [epoch for epoch, _ in events]
            assert epochs == sorted(epochs), f"session {session}: an old epoch wrote after a newer one"
            writers = {epoch: {writer for at, writer in events if at == epoch} for epoch in epochs}
            assert all(len(each) == 1 for each in writers.values()), f"session {session}: two writers in an epoch"
        for node in self.nodes:
            assert node.clock is not None
            wrong = abs(node.clock.micros() / 1e6 - self.database.time())
            assert wrong < CLOCK_SECONDS, f"the clock of {node.node_id} is {wrong:.1f} seconds wrong"
            for session, (epoch, _) in node.held.items():
                assert epoch == self.database.epochs[session], f"{node.node_id} still runs session {session}"


def simulate(seed: int) -> Simulation:
    simulation = Simulation(seed)
    with capture_logs(), asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(simulation.run())
    return simulation


async def run(run: Run) -> Outcome:
    seeds = run.pick(200, 20_000)
    run.announce(seeds)
    outcome, events, slowest, faults = Outcome(), 0, 0.0, Counter[str]()
    for seed in range(seeds):
        if run.over:
            outcome.partial.append(f"the last {seeds - seed:,} of {seeds:,} seeds, for lack of time")
            break
        try:
            done = await asyncio.get_running_loop().run_in_executor(None, simulate, seed)
        except BaseExceptionGroup as group:
            raise AssertionError(f"seed {seed}") from group
        faults += done.faults
        events += sum(len(each) for each in done.database.events.values())
        slowest = max(slowest, done.first)
        run.step()
    outcome.faults = faults.total()
    outcome.figures = {
        "faults": ", ".join(f"{count:,} {kind}" for kind, count in sorted(faults.items())),
        "appended": f"{events:,} events of {SESSIONS} sessions on {NODES} nodes, in simulated time",
        "written by an old epoch, or by two nodes in one": "0",
        "sessions taken over": f"longest {slowest:.1f} s of simulated time",
    }
    return outcome
