"""A cluster whose nodes, database and NATS server die or are cut off loses nothing and repeats nothing."""

from pathlib import Path

from tests.torture import nodes
from tests.torture.row import gate


async def test_nodes_and_servers_that_are_killed_paused_and_cut_off_lose_nothing(tmp_path: Path) -> None:
    outcome = await nodes.run(gate(tmp_path))
    assert outcome.faults == sum(map(len, nodes.FAULTS))
