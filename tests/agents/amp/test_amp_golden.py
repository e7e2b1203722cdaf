"""Golden tests of recorded exchanges with Amp."""

import pytest
from recorded_exchanges import GOLDEN, Player, cases, lines_of
from tests.agents.golden import assert_golden, memory_growth
from tests.agents.sequenced_session import violations

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
    assert len(cases()) == 37
    assert {case for case in cases() if not lines_of(case)} == SILENT


def test_decoding_many_sessions_leaks_no_memory() -> None:
    assert memory_growth(AmpDecoder, [lines_of(case) for case in cases()], rounds=30) < 50_000
