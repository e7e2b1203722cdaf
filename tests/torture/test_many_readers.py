"""A reader costs the daemon little memory, whether it is idle, stalls or reads a flood."""

from pathlib import Path

from tests.torture import readers
from tests.torture.row import gate


async def test_readers_hold_one_piece_each(tmp_path: Path) -> None:
    outcome = await readers.run(gate(tmp_path))
    assert outcome.faults == 650
