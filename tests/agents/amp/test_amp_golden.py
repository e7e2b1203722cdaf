"""Every recorded exchange, as events: what is checked in is what a client sees.

After a deliberate change: `EVERYAGENT_WRITE_GOLDEN=1 pytest -n 0 <this file>`, then read the diff.
"""

import os
import tracemalloc

import msgspec
import pytest
from recorded_exchanges import GOLDEN, Player, cases, lines_of
from tests.agents.told_session import violations

from everyagent.agents.amp.decode import Decoder
from everyagent.model.events import Event

#: It never got as far as saying anything.
SILENT = frozenset({"auth-bad", "bad-flag", "continue-missing", "server-down"})
#: It was not asked to speak in JSON.
PLAIN = "text-plain"


def rows(events: list[Event]) -> bytes:
    """One line an event, without what is the same in all."""
    told = [{"type": event.type, "synthetic": event.synthetic, "data": event.data} for event in events]
    return b"".join(msgspec.json.encode(row) + b"\n" for row in told)


@pytest.mark.parametrize("case", cases())
def test_a_recorded_exchange_becomes_the_events_checked_in(case: str) -> None:
    events = list(Player().play(case))
    expected = GOLDEN / case / "events.jsonl"
    if os.environ.get("EVERYAGENT_WRITE_GOLDEN"):
        expected.write_bytes(rows(events))
    assert rows(events).decode() == expected.read_text()


@pytest.mark.parametrize("case", cases())
def test_a_recorded_exchange_keeps_every_order_rule(case: str) -> None:
    assert violations(Player().play(case)) == []


@pytest.mark.parametrize("case", [case for case in cases() if case != PLAIN])
def test_no_recorded_frame_is_unparsed(case: str) -> None:
    assert [event.data for event in Player().play(case) if event.type == "agent.unparsed"] == []


def test_all_recorded_exchanges_are_here() -> None:
    assert len(cases()) == 37
    assert {case for case in cases() if not lines_of(case)} == SILENT


def test_a_thousand_sessions_leave_nothing_behind() -> None:
    """Thirty of each recorded exchange, each with a decoder of its own."""
    lines = [lines_of(case) for case in cases()]

    def play() -> int:
        for case in lines:
            decoder = Decoder()
            for line in case:
                decoder.decode(line)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = after = play()
        for _ in range(30):
            after = play()
    finally:
        tracemalloc.stop()
    assert after - before < 50_000
