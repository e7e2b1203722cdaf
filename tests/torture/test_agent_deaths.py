"""An agent that dies in any state is reported once, and its session goes on."""

from pathlib import Path

from tests.torture import deaths
from tests.torture.row import gate


async def test_a_death_in_each_state_is_reported_once_and_the_session_continues(tmp_path: Path) -> None:
    outcome = await deaths.run(gate(tmp_path))
    assert outcome.faults == (len(deaths.STATES) - 1) * len(deaths.SIGNALS) + 1
