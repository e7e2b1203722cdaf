"""Nodes of a cluster that die, stop or are paused lose nothing and repeat nothing."""

from pathlib import Path

from tests.torture import nodes
from tests.torture.row import gate


async def test_nodes_that_are_killed_paused_and_stopped_lose_nothing(tmp_path: Path) -> None:
    outcome = await nodes.run(gate(tmp_path))
    assert outcome.faults == len(nodes.KINDS)
