"""Acknowledged events survive a power cut, including those whose bodies are in blobs."""

from pathlib import Path

import pytest

from tests.torture import power_loss
from tests.torture.row import gate


async def test_nothing_acknowledged_is_lost_in_500_power_cuts(tmp_path: Path) -> None:
    outcome = await power_loss.run(gate(tmp_path))
    assert outcome.faults == 500


async def test_a_folder_that_is_not_synced_loses_blobs(tmp_path: Path) -> None:
    """Shows that the other test can fail."""
    cuts = await power_loss.cuts_while_writing(tmp_path / "history", 1, folder_syncs=False)
    with pytest.raises(AssertionError, match="blob that is lost"):
        await check_all(cuts, tmp_path)


async def check_all(cuts: list[power_loss.Cut], folder: Path) -> None:
    for number, cut in enumerate(cuts):
        await power_loss.check(cut, folder / f"cut-{number}", reopen=False)
