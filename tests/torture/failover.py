"""Row: a cluster under load whose PostgreSQL primary is killed, and whose synchronous standby is promoted."""

import asyncio

from tests.cluster.nodes import NodeProcess, cluster_of
from tests.postgres.replicated import ReplicatedPostgres
from tests.torture.nodes import NODES, NodeTorture
from tests.torture.row import Outcome, Run


class FailoverTorture(NodeTorture):
    def __init__(self, database: ReplicatedPostgres, nodes: list[NodeProcess], sessions: int, seed: int) -> None:
        super().__init__(None, nodes, sessions, seed)
        self._database = database

    async def _inject(self, kind: str, node: NodeProcess, other: NodeProcess) -> None:
        self.faults[kind] += 1
        before = sum(len(witness.accepted) for witness in self.witnesses)
        await asyncio.to_thread(self._database.fail_over)
        # The next one comes only after messages were taken by the new primary.
        while sum(len(witness.accepted) for witness in self.witnesses) < before + len(self.witnesses):
            await asyncio.sleep(0.05)


async def run(run: Run) -> Outcome:
    rounds = [("failover",)] * run.pick(2, 20)
    run.announce(len(rounds))
    database = ReplicatedPostgres(durable=run.size == "full")
    try:
        await asyncio.to_thread(database.start)
        running = cluster_of(run.folder, [(database.url,)] * NODES)
        nodes = await asyncio.to_thread(running.__enter__)
        try:
            torture = FailoverTorture(database, nodes, run.pick(6, 30), seed=20260103)
            await torture.prepare()
            left = await torture.run(rounds, lambda: run.over, run.step)
        finally:
            await asyncio.to_thread(running.__exit__, None, None, None)
    finally:
        database.close()
    outcome = Outcome(faults=torture.faults.total())
    if left:
        outcome.partial.append(f"the last {left} of {len(rounds)} fail-overs, for lack of time")
    outcome.figures = torture.seen()
    return outcome
