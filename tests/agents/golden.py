"""Golden tests of recorded exchanges: compares events with those checked in, and measures memory.

After a deliberate change: `EVERYAGENT_WRITE_GOLDEN=1 pytest -n 0 <the test file>`, then read the diff.
"""

import os
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from everyagent.model.events import Event
from everyagent.runtime.framing import Line


class LineDecoder(Protocol):
    def decode(self, line: Line) -> object: ...


class RecordedSession(Protocol):
    @property
    def events(self) -> Sequence[Event]: ...


def assert_golden(events: Sequence[Event], folder: Path) -> None:
    """One line for each event in `events.jsonl`, without the fields that are the same in all."""
    _compare([{"type": event.type, "synthetic": event.synthetic, "data": event.data} for event in events], folder)


def assert_golden_sessions(sessions: Sequence[RecordedSession], folder: Path) -> None:
    """The same with the session's number in each line: the sessions of an exchange one after the other."""
    rows = [
        {"session": number, "type": event.type, "synthetic": event.synthetic, "data": event.data}
        for number, session in enumerate(sessions, 1)
        for event in session.events
    ]
    _compare(rows, folder)


def _compare(events: Sequence[Mapping[str, object]], folder: Path) -> None:
    rows = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
    expected = folder / "events.jsonl"
    if os.environ.get("EVERYAGENT_WRITE_GOLDEN"):
        expected.write_bytes(rows)
    assert rows.decode() == expected.read_text()


def memory_growth(decoder: Callable[[], LineDecoder], exchanges: Sequence[Sequence[Line]], rounds: int) -> int:
    """The bytes that are still in use after `rounds` of all exchanges, each with a decoder of its own."""

    def play() -> int:
        for lines in exchanges:
            one = decoder()
            for line in lines:
                one.decode(line)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = after = play()
        for _ in range(rounds):
            after = play()
    finally:
        tracemalloc.stop()
    return after - before
