"""Hostile output of an agent costs its session at most a turn, and the daemon little memory."""

from pathlib import Path

from tests.torture import hostile
from tests.torture.row import gate


async def test_the_daemon_survives_hostile_agents_and_keeps_their_output(tmp_path: Path) -> None:
    outcome = await hostile.run(gate(tmp_path))
    assert outcome.faults > 20
