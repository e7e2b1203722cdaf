"""A cluster whose nodes, database and NATS server die or are cut off loses nothing and repeats nothing."""

from pathlib import Path

from tests.torture import failover, nodes
from tests.torture.report import Finished, markdown
from tests.torture.row import Outcome, gate


async def test_nodes_and_servers_that_are_killed_paused_and_cut_off_lose_nothing(tmp_path: Path) -> None:
    outcome = await nodes.run(gate(tmp_path))
    assert outcome.faults == sum(map(len, nodes.FAULTS))


async def test_nothing_is_lost_when_a_synchronous_standby_takes_the_place_of_its_primary(tmp_path: Path) -> None:
    assert (await failover.run(gate(tmp_path))).faults == 2


def test_the_report_shows_a_limit_that_was_missed() -> None:
    late = nodes.missed({"kill": [9.0, 14.9], "stop": [0.4, 1.2], "pause": []})
    assert late == ["after stop, the first message was taken after 1.20 s; the limit is 1 s"]
    report = markdown([Finished(name="nodes", fault="f", outcome=Outcome(missed=late), seconds=1.0)])
    assert "| **missed a limit** |" in report
    assert f"* missed: {late[0]}" in report
