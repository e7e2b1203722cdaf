"""CPU time per message of Amp (decode, convert, encode) over all recorded exchanges."""

from pathlib import Path

import msgspec

from bench.claude import micros
from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average
from bench.plan import Plan
from everyagent.agents.amp.decode import AmpDecoder
from everyagent.runtime.framing import Line

RECORDED = Path(__file__).parents[1] / "tests" / "golden" / "amp"
A_MESSAGE = Standard(bar=60, goal=30, best="low")
A_DELTA = Standard(bar=20, goal=10, best="low")
TEXTS = 2_000
#: Amp sends whole messages: a text becomes the start of its item, one delta, and its end.
EVENTS_OF_A_TEXT = 3


class Exchange(msgspec.Struct, frozen=True):
    dir: str
    msg: msgspec.Raw


def measure(plan: Plan) -> list[Figure]:
    cases = [lines for folder in sorted(RECORDED.iterdir()) if (lines := _lines(folder))]
    text = next((line for line in _lines(RECORDED / "text") if b'"assistant"' in line.body), None)
    if text is None:
        raise Unmeasured("the recorded exchange has no text")
    going_on = Line(text.body.replace(b'"end_turn"', b'"tool_use"'))
    load = load_average()
    return [
        Figure(
            what=what,
            unit="µs",
            samples=[micros("amp", AmpDecoder, lines) / events for _ in range(plan.repeats)],
            load=load,
            standard=standard,
        )
        for what, lines, events, standard in (
            ("the daemon's CPU for a message of Amp", cases * 10, 1, A_MESSAGE),
            ("the same for an event of a text, its delta among them", [[going_on] * TEXTS], EVENTS_OF_A_TEXT, A_DELTA),
        )
    ]


def _lines(folder: Path) -> list[Line]:
    rows = (folder / "frames.jsonl").read_bytes().splitlines()
    exchanges = [msgspec.json.decode(row, type=Exchange) for row in rows]
    bodies = [bytes(exchange.msg) for exchange in exchanges if exchange.dir == "out"]
    return [Line(body) for body in bodies if body.startswith(b"{")]
