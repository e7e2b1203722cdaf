"""CPU time per message of Codex (route, decode, convert, encode) over all recorded exchanges."""

import time
from pathlib import Path

import msgspec

from bench.claude import transaction_of
from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average
from bench.plan import Plan
from everyagent.agents.adapter import Echo, NativeSession, Synthetic
from everyagent.agents.codex.decode.decoder import CodexDecoder
from everyagent.agents.codex.protocol import rpc
from everyagent.agents.codex.protocol.routing import ThreadRouter
from everyagent.runtime.framing import Line
from everyagent.sessions.machine.sequencer import Sequencer

RECORDED = Path(__file__).parents[1] / "tests" / "golden" / "codex"
A_MESSAGE = Standard(bar=60, goal=30, best="low")
A_DELTA = Standard(bar=20, goal=10, best="low")
DELTAS = 2_000


class Exchange(msgspec.Struct, frozen=True):
    dir: str
    msg: msgspec.Raw


class Opened(msgspec.Struct, frozen=True):
    id: int = 0
    result: "OpenedThread | None" = None


class OpenedThread(msgspec.Struct, frozen=True):
    thread: object = None


def measure(plan: Plan) -> list[Figure]:
    cases = [_lines(folder) for folder in sorted(RECORDED.iterdir())]
    streamed = _lines(RECORDED / "text")
    delta = next((line for line in streamed if b"agentMessage/delta" in line.body), None)
    before = [line for line in streamed if b"turn/" not in line.body and b"delta" not in line.body]
    if delta is None:
        raise Unmeasured("the recorded stream has no text")
    load = load_average()
    return [
        Figure(
            what=what, unit="µs", samples=[_micros(lines) for _ in range(plan.repeats)], load=load, standard=standard
        )
        for what, lines, standard in (
            ("the daemon's CPU for a message of Codex", cases, A_MESSAGE),
            ("the same for a text delta", [[before[1], *[delta] * DELTAS]], A_DELTA),
        )
    ]


def _lines(folder: Path) -> list[Line]:
    rows = (folder / "frames.jsonl").read_bytes().splitlines()
    exchanges = [msgspec.json.decode(row, type=Exchange) for row in rows]
    return [Line(bytes(exchange.msg)) for exchange in exchanges if exchange.dir == "out"]


def _opening(lines: list[Line]) -> set[int]:
    """Ids of the requests that opened a thread."""
    heads = [msgspec.json.decode(line.body, type=Opened) for line in lines if line.body.startswith(b'{"id"')]
    return {head.id for head in heads if head.result and head.result.thread is not None}


def _micros(cases: list[list[Line]]) -> float:
    """Time from the native line to the encoded step. All threads of a case are one session."""
    openings = [_opening(lines) for lines in cases]
    began = time.process_time()
    for lines, opened in zip(cases, openings, strict=True):
        decoder, order, router = CodexDecoder(), Sequencer(), ThreadRouter[None]([])
        decoder.sent.update(dict.fromkeys(opened, "thread/start"))
        transaction = transaction_of("codex")
        order.start_turn([])
        for line in lines:
            said = rpc.read(line)
            for _ in router.route(said):
                continue
            transaction.begin_frame("from_agent", line.body)
            for draft in decoder.decode(said).drafts:
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
