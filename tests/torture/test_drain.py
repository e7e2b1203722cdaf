"""A daemon that gets SIGTERM under load ends in order."""

from pathlib import Path

from tests.torture import drain
from tests.torture.row import gate


async def test_sigterm_under_load_ends_agents_and_turns_and_loses_nothing(tmp_path: Path) -> None:
    """How long that may take is in the report: here it must only come to its end."""
    outcome = await drain.run(gate(tmp_path))
    assert outcome.faults == 1
