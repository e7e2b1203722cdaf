"""CPU time per message of Claude Code (decode, convert, encode) over all recorded exchanges."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average
from bench.plan import Plan
from everyagent.agents.adapter import DecodedFrame, Echo, NativeSession, Synthetic
from everyagent.agents.claude.decode import ClaudeDecoder
from everyagent.clock import SystemClock
from everyagent.log.log import SessionRecord
from everyagent.runtime.framing import Line
from everyagent.sessions.machine.sequencer import Sequencer
from everyagent.sessions.machine.transaction import LogPosition, Transaction

RECORDED = Path(__file__).parents[1] / "tests" / "golden" / "claude"
A_FRAME = Standard(bar=60, goal=30, best="low")
A_DELTA = Standard(bar=20, goal=10, best="low")
DELTAS = 2_000


class Exchange(msgspec.Struct, frozen=True):
    dir: str
    msg: msgspec.Raw = msgspec.Raw(b"null")


def measure(plan: Plan) -> list[Figure]:
    cases = [recorded_lines(folder) for folder in sorted(RECORDED.iterdir())]
    streamed = recorded_lines(RECORDED / "streaming-deltas")
    begin = next((line for line in streamed if b"message_start" in line.body), None)
    delta = next((line for line in streamed if b"text_delta" in line.body), None)
    if begin is None or delta is None:
        raise Unmeasured("the recorded stream has no text")
    load = load_average()
    return [
        Figure(
            what=what,
            unit="µs",
            samples=[micros("claude", ClaudeDecoder, lines) for _ in range(plan.repeats)],
            load=load,
            standard=standard,
        )
        for what, lines, standard in (
            ("the daemon's CPU for a message of Claude Code", cases, A_FRAME),
            ("the same for a text delta", [[begin, *[delta] * DELTAS]], A_DELTA),
        )
    ]


def recorded_lines(folder: Path) -> list[Line]:
    rows = (folder / "frames.jsonl").read_bytes().splitlines()
    exchanges = [msgspec.json.decode(row, type=Exchange) for row in rows]
    return [Line(bytes(exchange.msg)) for exchange in exchanges if exchange.dir == "out"]


def transaction_of(agent: str) -> Transaction:
    """Of a new session."""
    record = SessionRecord(
        number=1, session_id="s", agent=agent, created_at=0, updated_at=0, config=b"{}", secrets=None
    )
    return Transaction(LogPosition(record), SystemClock().micros())


class LineDecoder(Protocol):
    def decode(self, line: Line) -> DecodedFrame: ...


def micros(agent: str, decoder_of: Callable[[], LineDecoder], cases: list[list[Line]]) -> float:
    """Time from the native line to the encoded step, as in a session. Each case is one session."""
    began = time.process_time()
    for lines in cases:
        decoder, order = decoder_of(), Sequencer()
        transaction = transaction_of(agent)
        order.start_turn([])
        for line in lines:
            transaction.begin_frame("from_agent", line.body)
            for draft in decoder.decode(line).drafts:
                match draft:
                    case NativeSession():
                        transaction.set_native_session(draft.id)
                    case Echo():
                        transaction.emit(order.echoed(draft.native_item_id))
                    case Synthetic():
                        transaction.emit(order.apply(draft.data, synthetic=True))
                    case _:
                        transaction.emit(order.apply(draft))
        transaction.finish()
    return 1e6 * (time.process_time() - began) / sum(map(len, cases))
