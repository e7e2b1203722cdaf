"""Golden tests of recorded exchanges with Claude Code."""

from pathlib import Path

import pytest
from claude_stage import ClaudeSession
from recorded import GOLDEN, Player, cases, lines_of
from tests.agents.exported_case import assert_case_replays
from tests.agents.golden import assert_golden, memory_growth
from tests.agents.sequenced_session import violations
from tests.scripted.messages_replies import call, say

from everyagent.agents.claude.decode import ClaudeDecoder

#: Exchanges in which the program got invalid input, so that it exited without output.
SILENT = frozenset({"bad-flag", "bypass-root-refused", "malformed-stdin"})


@pytest.mark.parametrize("case", cases())
def test_a_recorded_exchange_becomes_the_events_checked_in(case: str) -> None:
    assert_golden(Player().play(case), GOLDEN / case)


@pytest.mark.parametrize("case", cases())
def test_a_recorded_exchange_keeps_every_order_rule(case: str) -> None:
    assert violations(Player().play(case)) == []


@pytest.mark.parametrize("case", cases())
def test_no_recorded_frame_is_unparsed(case: str) -> None:
    assert [event.data for event in Player().play(case) if event.type == "agent.unparsed"] == []


@pytest.mark.parametrize("case", cases())
def test_our_answers_equal_the_recorded_answers(case: str) -> None:
    player = Player()
    player.play(case)
    for recorded, ours in player.answers:
        assert ours.behavior == recorded.behavior
        if recorded.behavior == "deny":
            assert ours.message == recorded.message
        elif "answers" in recorded.updatedInput:
            assert ours.updatedInput == recorded.updatedInput


def test_all_recorded_exchanges_are_here() -> None:
    assert len(cases()) == 102
    assert {case for case in cases() if not lines_of(case)} == SILENT


def test_decoding_many_sessions_leaks_no_memory() -> None:
    assert memory_growth(ClaudeDecoder, [lines_of(case) for case in cases()], rounds=10) < 50_000


def test_a_session_is_exported_as_a_case_that_replays_as_the_same_items(session: ClaudeSession, tmp_path: Path) -> None:
    session.model.script.add(call("Bash", {"command": "echo out"}, text="Looking."), say("Second."))
    assert_case_replays(session, tmp_path / "case", lambda case: Player().play(case))
