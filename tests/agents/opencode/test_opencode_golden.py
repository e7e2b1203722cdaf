"""Every recorded exchange, as events: what is checked in is what a client sees.

After a deliberate change: `EVERYAGENT_WRITE_GOLDEN=1 pytest -n 0 <this file>`, then read the diff.
"""

from pathlib import Path

import pytest
from opencode_stage import OpencodeSession
from recorded_sessions import GOLDEN, Player, cases, events_of, told_of
from tests.agents.exported_case import assert_case_replays
from tests.agents.golden import assert_golden_sessions
from tests.agents.sequenced_session import violations
from tests.scripted.chat_replies import run, say

from everyagent.agents.adapter import DecodedFrame
from everyagent.agents.opencode.decode.decoder import OpencodeDecoder
from everyagent.agents.opencode.protocol import native_event
from everyagent.model.events import TurnEnded

#: Exchanges in which no session of the API we use was opened.
SILENT = frozenset(
    {
        "lists",
        "run-json-ask",
        "run-json-bash",
        "run-json-fatal",
        "run-json-text",
        "server-password",
        "unknown-route",
        "v2-api",
        "v2-api-configfile",
    }
)

#: Exchanges in which the process was killed or put its work down in a turn, or a prompt was refused.
CUT = frozenset({"kill-and-resume", "dispose", "fatal-errors"})


@pytest.mark.parametrize("case", cases())
def test_a_recorded_exchange_becomes_the_events_checked_in(case: str) -> None:
    assert_golden_sessions(Player().play(case).sessions, GOLDEN / case)


@pytest.mark.parametrize("case", cases())
def test_a_recorded_exchange_keeps_every_order_rule(case: str) -> None:
    assert [violations(session.events) for session in Player().play(case).sessions if violations(session.events)] == []


@pytest.mark.parametrize("case", cases())
def test_no_recorded_event_is_unparsed(case: str) -> None:
    assert [event.data for event in told_of(Player().play(case)) if event.type == "agent.unparsed"] == []


@pytest.mark.parametrize("case", cases())
def test_our_answers_equal_the_recorded_answers(case: str) -> None:
    for recorded, ours in Player().play(case).answers:
        assert ours == recorded


@pytest.mark.parametrize("case", cases())
def test_every_turn_that_was_not_cut_is_ended_by_an_event_of_opencode(case: str) -> None:
    ends = [event for event in told_of(Player().play(case)) if isinstance(event.data, TurnEnded)]
    assert [event for event in ends if event.synthetic and case not in CUT] == []


def test_all_recorded_exchanges_are_here() -> None:
    assert len(cases()) == 40
    assert {case for case in cases() if not list(told_of(Player().play(case)))} == SILENT


def test_a_decoder_remembers_open_items_only() -> None:
    decoder = OpencodeDecoder()
    for _ in range(3):
        for case in cases():
            for event in events_of(case):
                assert isinstance(decoder.decode(native_event.read(event)), DecodedFrame)
                decoder.effects.clear()


def test_a_session_is_exported_as_a_case_that_replays_as_the_same_items(
    session: OpencodeSession, tmp_path: Path
) -> None:
    session.model.script.add(run("echo out", text="Looking."), say("Second."))
    assert_case_replays(session, tmp_path / "case", lambda case: told_of(Player().play(case)))
