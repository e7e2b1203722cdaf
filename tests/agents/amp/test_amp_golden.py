"""Golden tests of recorded exchanges with Amp."""

from pathlib import Path

import pytest
from amp_stage import AmpSession
from recorded_exchanges import GOLDEN, Player, cases, lines_of
from tests.agents.exported_case import assert_case_replays
from tests.agents.golden import assert_golden, memory_growth
from tests.agents.sequenced_session import violations
from tests.scripted.amp_replies import call, say

from everyagent.agents.amp.decode import AmpDecoder

#: Exchanges without any output.
SILENT = frozenset({"auth-bad", "bad-flag", "continue-missing", "server-down"})
#: The exchange without `--stream-json`, so without JSON output.
PLAIN = "text-plain"


@pytest.mark.parametrize("case", cases())
def test_a_recorded_exchange_becomes_the_events_checked_in(case: str) -> None:
    assert_golden(Player().play(case), GOLDEN / case)


@pytest.mark.parametrize("case", cases())
def test_a_recorded_exchange_keeps_every_order_rule(case: str) -> None:
    assert violations(Player().play(case)) == []


@pytest.mark.parametrize("case", [case for case in cases() if case != PLAIN])
def test_no_recorded_frame_is_unparsed(case: str) -> None:
    assert [event.data for event in Player().play(case) if event.type == "agent.unparsed"] == []


def test_all_recorded_exchanges_are_here() -> None:
    assert len(cases()) == 39
    assert {case for case in cases() if not lines_of(case)} == SILENT


def test_decoding_many_sessions_leaks_no_memory() -> None:
    assert memory_growth(AmpDecoder, [lines_of(case) for case in cases()], rounds=30) < 50_000


def test_a_session_is_exported_as_a_case_that_replays_as_the_same_items(session: AmpSession, tmp_path: Path) -> None:
    session.model.script.add(call("shell_command", {"command": "echo out"}, text="Looking."), say("Second."))
    assert_case_replays(session, tmp_path / "case", lambda case: Player().play(case))
