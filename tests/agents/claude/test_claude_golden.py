"""Every recorded exchange, as events: what is checked in is what a client sees.

After a deliberate change: `EVERYAGENT_WRITE_GOLDEN=1 pytest -n 0 <this file>`, then read the diff.
"""

import os
import time
import tracemalloc

import msgspec
import pytest
from recorded import GOLDEN, Player, cases, lines_of, violations

from everyagent.agents.adapter import NativeSession, Synthetic
from everyagent.agents.claude.decode import Decoder
from everyagent.model.events import Event
from everyagent.runtime.framing import Line
from everyagent.sessions.order import Order

#: Exchanges in which the program was told nonsense, so that it ended without a word.
SILENT = frozenset({"bad-flag", "bypass-root-refused", "malformed-stdin"})


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


@pytest.mark.parametrize("case", cases())
def test_no_recorded_frame_is_unparsed(case: str) -> None:
    assert [event.data for event in Player().play(case) if event.type == "agent.unparsed"] == []


@pytest.mark.parametrize("case", cases())
def test_a_recorded_answer_is_what_we_would_have_said(case: str) -> None:
    player = Player()
    list(player.play(case))
    for recorded, ours in player.answers:
        assert ours.behavior == recorded.behavior
        if recorded.behavior == "deny":
            assert ours.message == recorded.message
        elif "answers" in recorded.updatedInput:
            assert ours.updatedInput == recorded.updatedInput


def test_all_recorded_exchanges_are_here() -> None:
    assert len(cases()) == 101
    assert {case for case in cases() if not lines_of(case)} == SILENT


def test_a_thousand_sessions_leave_nothing_behind() -> None:
    """Ten of each recorded exchange, each with a decoder of its own."""
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
        for _ in range(10):
            after = play()
    finally:
        tracemalloc.stop()
    assert after - before < 50_000


def seconds_a_line(lines: list[Line]) -> float:
    """Of CPU, from the line to the encoded events; the best of some, since the machine does other things as well."""
    times: list[float] = []
    for _ in range(7):
        decoder, order = Decoder(), Order()
        order.start_turn([])
        began = time.process_time()
        for line in lines:
            for draft in decoder.decode(line).drafts:
                if not isinstance(draft, NativeSession | Synthetic):
                    for woven in order.apply(draft):
                        msgspec.json.encode(woven.data)
        times.append(time.process_time() - began)
    return min(times) / len(lines)


def test_a_recorded_frame_costs_less_than_60_microseconds() -> None:
    assert seconds_a_line([line for case in cases() for line in lines_of(case)]) < 60e-6


def test_a_text_delta_costs_less_than_20_microseconds() -> None:
    lines = lines_of("streaming-deltas")
    (begin,) = [line for line in lines if b"message_start" in line.body][:1]
    (delta,) = [line for line in lines if b"text_delta" in line.body][:1]
    assert seconds_a_line([begin, *[delta] * 2000]) < 20e-6
