"""A killed daemon loses nothing that a client saw."""

from pathlib import Path

from tests.torture import kills
from tests.torture.row import gate


async def test_kill_9_loses_nothing_that_a_client_saw(tmp_path: Path) -> None:
    outcome = await kills.run(gate(tmp_path))
    assert outcome.faults >= 36
