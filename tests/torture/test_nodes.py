"""A cluster whose nodes, database and NATS server die or are cut off loses nothing and repeats nothing."""

from pathlib import Path

from tests.torture import failover, nodes
from tests.torture.row import gate


async def test_nodes_and_servers_that_are_killed_paused_and_cut_off_lose_nothing(tmp_path: Path) -> None:
    outcome = await nodes.run(gate(tmp_path))
    assert outcome.faults == sum(map(len, nodes.FAULTS))


async def test_nothing_is_lost_when_a_synchronous_standby_takes_the_place_of_its_primary(tmp_path: Path) -> None:
    assert (await failover.run(gate(tmp_path))).faults == 2


def test_a_move_that_takes_too_long_is_reported() -> None:
    late = nodes.too_late({"kill": [9.0, 14.9], "stop": [0.4, 1.2], "pause": []})
    assert late == ["first message after stop within 1 s: 1 of 2 took longer, the longest 1.20 s"]
