"""CPU time per event of OpenCode (route, decode, convert, encode) over all recorded exchanges."""

import time
from pathlib import Path

import msgspec

from bench.claude import transaction_of
from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average
from bench.plan import Plan
from everyagent.agents.adapter import Echo, NativeSession, Synthetic
from everyagent.agents.opencode.decode.decoder import OpencodeDecoder
from everyagent.agents.opencode.protocol import native_event
from everyagent.agents.opencode.protocol.routing import SessionRouter
from everyagent.runtime.framing import LineSplitter
from everyagent.sessions.machine.sequencer import Sequencer

RECORDED = Path(__file__).parents[1] / "tests" / "golden" / "opencode"
AN_EVENT = Standard(bar=60, goal=30, best="low")
A_DELTA = Standard(bar=20, goal=10, best="low")
DELTAS = 2_000


class Exchange(msgspec.Struct, frozen=True):
    dir: str
    msg: msgspec.Raw


def measure(plan: Plan) -> list[Figure]:
    cases = [events for folder in sorted(RECORDED.iterdir()) if (events := _events(folder))]
    streamed = _events(RECORDED / "text")
    delta = next((event for event in streamed if b'"message.part.delta"' in event), None)
    if delta is None:
        raise Unmeasured("the recorded stream has no text")
    before = streamed[: streamed.index(delta)]
    load = load_average()
    return [
        Figure(
            what=what, unit="µs", samples=[_micros(events) for _ in range(plan.repeats)], load=load, standard=standard
        )
        for what, events, standard in (
            ("the daemon's CPU for an event of OpenCode", cases, AN_EVENT),
            ("the same for a text delta", [[*before, *[delta] * DELTAS]], A_DELTA),
        )
    ]


def _events(folder: Path) -> list[bytes]:
    """Recorded events in the form of the event stream."""
    rows = (folder / "frames.jsonl").read_bytes().splitlines()
    exchanges = [msgspec.json.decode(row, type=Exchange) for row in rows]
    return [b"data: " + bytes(exchange.msg) + b"\n\n" for exchange in exchanges if exchange.dir == "out"]


def _sessions(events: list[bytes]) -> list[str]:
    heads = [native_event.read(event[6:-2]) for event in events]
    return list(dict.fromkeys(head.session for head in heads if head.session))


def _micros(cases: list[list[bytes]]) -> float:
    """Time from the event stream to the encoded step. Each native session is one session."""
    owners = [_sessions(events) for events in cases]
    began = time.process_time()
    for events, sessions in zip(cases, owners, strict=True):
        router, splitter = SessionRouter[str](), LineSplitter()
        decoders = {session: OpencodeDecoder() for session in sessions}
        orders = {session: Sequencer() for session in sessions}
        for session, decoder in decoders.items():
            router.own(session, session)
            decoder.session = session
            decoder.prompted()
            orders[session].start_turn([])
        transaction = transaction_of("opencode")
        for event in events:
            for line in splitter.feed(event):
                body = native_event.event(line)
                if body is None:
                    continue
                for session, each in router.route(native_event.read(body)):
                    transaction.begin_frame("from_agent", body)
                    order = orders[session]
                    for draft in decoders[session].decode(each).drafts:
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
