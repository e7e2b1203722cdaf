"""Every recorded exchange, as events: what is checked in is what a client sees.

After a deliberate change: `EVERYAGENT_WRITE_GOLDEN=1 pytest -n 0 <this file>`, then read the diff.
"""

import hashlib
from pathlib import Path

import pytest
from codex_stage import CodexSession
from recorded_threads import EXEC, GOLDEN, Player, cases, lines_of, told_of
from tests.agents.exported_case import assert_case_replays
from tests.agents.golden import assert_golden_sessions
from tests.agents.sequenced_session import violations
from tests.scripted.responses_replies import run, say

from everyagent.agents.adapter import DecodedFrame
from everyagent.agents.codex.decode.decoder import CodexDecoder
from everyagent.agents.codex.protocol import rpc
from everyagent.model.events import Unparsed
from everyagent.runtime.framing import Line

#: Exchanges in which no thread was opened.
SILENT = frozenset({"models", "two-servers-b"})
#: Answers that a client of ours never leads to: `cancel` ends the turn, an amendment outlives the session.
OTHERS = frozenset({"exec-approval-cancel", "exec-approval-execpolicy", "mcp-approval"})


@pytest.mark.parametrize("case", cases())
def test_a_recorded_exchange_becomes_the_events_checked_in(case: str) -> None:
    assert_golden_sessions(Player().play(case).sessions, GOLDEN / case)


@pytest.mark.parametrize("case", cases())
def test_a_recorded_exchange_keeps_every_order_rule(case: str) -> None:
    assert [violations(session.events) for session in Player().play(case).sessions if violations(session.events)] == []


@pytest.mark.parametrize("case", cases())
def test_no_recorded_frame_is_unparsed(case: str) -> None:
    assert [event.data for event in told_of(Player().play(case)) if event.type == "agent.unparsed"] == []


@pytest.mark.parametrize("case", cases())
def test_our_answers_equal_the_recorded_answers(case: str) -> None:
    if case not in OTHERS:
        for recorded, ours in Player().play(case).answers:
            assert ours == recorded


def test_all_recorded_exchanges_are_here() -> None:
    assert (len(cases()), len(cases(EXEC))) == (50, 7)
    assert {case for case in cases() if not list(told_of(Player().play(case)))} <= SILENT


@pytest.mark.parametrize("case", cases(EXEC))
def test_every_line_of_codexs_other_protocol_is_kept_and_unparsed(case: str) -> None:
    """`codex exec --json` has items of the same names, and nothing may be taken for what it is not."""
    player, lines = Player().play("text"), lines_of(case, EXEC)
    (session,) = player.sessions
    before = len(session.events)
    for line in lines:
        for owner, said in player.router.route(rpc.read(line)):
            owner.received(said)
    told = [event.data for event in session.events[before:]]
    assert [data.raw_hash for data in told if isinstance(data, Unparsed)] == [digest(line) for line in lines]
    assert len(told) == len(lines)


def digest(line: Line) -> str:
    return hashlib.sha256(line.body).hexdigest()


def test_a_decoder_remembers_open_items_only() -> None:
    decoder = CodexDecoder()
    lines = [line for case in cases() for line in lines_of(case)]
    for _ in range(3):
        for line in lines:
            assert isinstance(decoder.decode(rpc.read(line)), DecodedFrame)
            decoder.effects.clear()


def test_a_session_is_exported_as_a_case_that_replays_as_the_same_items(session: CodexSession, tmp_path: Path) -> None:
    session.model.script.add(run("echo out"), say("Second."))
    assert_case_replays(session, tmp_path / "case", lambda case: told_of(Player().play(case)))
