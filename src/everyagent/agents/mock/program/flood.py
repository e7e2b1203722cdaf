"""Text deltas as fast as a pipe takes them, for benchmarks."""

import time
from collections.abc import Iterator
from typing import NamedTuple

from everyagent.agents.mock.directives import Directive
from everyagent.agents.mock.program.turn import MockTurn

LINES_A_WRITE = 1000
MESSAGE_SIZE = 200_000
STAMPED_SIZE = 28


class _Deltas(NamedTuple):
    """With a `rate` per second they are written one by one; `stamped` ones contain the time of their creation."""

    filler: bytes
    rate: float
    stamped: bool

    def texts(self, numbers: range) -> list[bytes]:
        if self.stamped:
            return [b"%08d%020d%b" % (n, time.monotonic_ns(), self.filler) for n in numbers]
        return [b"%08d%b" % (n, self.filler) for n in numbers]

    def batches(self, turn: MockTurn, numbers: range, began: float) -> Iterator[list[bytes]]:
        a_write = 1 if self.rate else LINES_A_WRITE
        for start in range(0, len(numbers), a_write):
            batch = numbers[start : start + a_write]
            if self.rate:
                turn.pause(max(0.0, began + batch[0] / self.rate - time.monotonic()))
            yield self.texts(batch)


def flood(turn: MockTurn, directive: Directive) -> None:
    """Each delta starts with its number, in 8 digits; a message holds at most about 200 kB of them.

    A stamp is `time.monotonic_ns()` in 20 digits, after the number.
    """
    events, stamped = directive.whole("events", 100_000), directive.flag("stamp")
    least = STAMPED_SIZE if stamped else 8
    size = max(least, directive.whole("size", 200))
    deltas = _Deltas(b"x" * (size - least), directive.number("rate", 0), stamped)
    a_message = max(1, MESSAGE_SIZE // size)
    began = time.monotonic()
    for first in range(0, events, a_message):
        _message(turn, deltas, range(first, min(events, first + a_message)), began)


def _message(turn: MockTurn, deltas: _Deltas, numbers: range, began: float) -> None:
    message = turn.new_id("msg")
    head = f'{{"type":"text","id":"{message}","index":0,"text":"'.encode()
    parts: list[bytes] = []
    turn.say("message.start", id=message)
    for texts in deltas.batches(turn, numbers, began):
        turn.write(b"".join([b'%b%b"}\n' % (head, text) for text in texts]))
        parts += texts
    text = b"".join(parts).decode()
    turn.spoken += len(text)
    turn.say("message.end", id=message, content=[{"type": "text", "text": text}])
