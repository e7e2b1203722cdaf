"""Leases and epochs keep sessions to one writer, and every session gets a living owner."""

from pathlib import Path

import pytest

from everyagent.cluster.lease import LeasePolicy
from tests.torture import leases
from tests.torture.row import gate


async def test_simulated_nodes_never_write_to_a_session_that_was_taken_over(tmp_path: Path) -> None:
    outcome = await leases.run(gate(tmp_path))
    assert outcome.faults == 200 * leases.FAULTS


async def test_the_simulation_notices_nodes_that_remove_others_after_an_outage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(_policy: LeasePolicy, _now: float) -> bool:
        return True

    monkeypatch.setattr(LeasePolicy, "may_remove", at_once)
    with pytest.raises(AssertionError, match="seed"):
        await leases.run(gate(tmp_path))
