"""Deleted sessions leave nothing behind."""

from pathlib import Path

from tests.torture import soak
from tests.torture.row import gate


async def test_deleted_sessions_leave_no_descriptors_and_no_files(tmp_path: Path) -> None:
    outcome = await soak.run(gate(tmp_path))
    assert outcome.faults > 0
