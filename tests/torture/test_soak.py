"""Deleted sessions leave nothing behind."""

from pathlib import Path

import pytest

from tests.torture import soak
from tests.torture.row import gate


async def test_deleted_sessions_leave_no_descriptors_and_no_files(tmp_path: Path) -> None:
    outcome = await soak.run(gate(tmp_path))
    assert outcome.faults > 0


def test_growth_is_measured_in_mebibytes_an_hour_of_the_second_half() -> None:
    """Memory fills in the first half, and then grows by one MiB in each of 30 minutes."""
    filling = [(60.0 * minute, minute << 30) for minute in range(30)]
    growing = [(60.0 * minute, (30 << 30) + (minute << 20)) for minute in range(30, 60)]
    assert soak.growth_of(filling + growing) == pytest.approx(60)
    assert soak.growth_of([(at, 5 << 20) for at, _ in growing]) == 0
    assert soak.growth_of(growing[:1]) == 0
