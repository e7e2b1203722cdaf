"""Run one task for each line of a file, some at a time, until all are done or the money is spent.

python examples/batch.py --agent claude --at-once 4 --budget 5.00 tasks.txt
"""

import argparse
import asyncio
import sys
from pathlib import Path

from everyagent.client import AsyncClient


class Budget:
    """US dollars. A turn that runs is not cut, so the last ones may exceed it a little."""

    def __init__(self, dollars: float) -> None:
        self.left = dollars

    def spend(self, dollars: float | None) -> None:
        self.left -= dollars or 0.0


async def work(client: AsyncClient, agent: str, tasks: list[tuple[int, str]], budget: Budget) -> None:
    while tasks and budget.left > 0:
        number, task = tasks.pop(0)
        session = client.use(await client.create(agent=agent, title=f"Task {number}"))
        turn = await session.run(task)
        budget.spend(turn.cost_usd)
        await session.terminate()
        print(f"{number}\t{turn.stop_reason}\t${turn.cost_usd or 0:.4f}\t{turn.text[:80]!r}", flush=True)


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--agent", required=True)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--budget", type=float, default=1.0, help="US dollars")
    parser.add_argument("tasks", type=Path)
    asked = parser.parse_args()
    tasks = list(enumerate(filter(None, asked.tasks.read_text().splitlines()), 1))
    budget = Budget(asked.budget)
    async with AsyncClient() as client:
        await asyncio.gather(*(work(client, asked.agent, tasks, budget) for _ in range(asked.at_once)))
    if tasks:
        print(f"the budget is spent: {len(tasks)} tasks are left")
    return 1 if tasks else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
