"""CPU time per message of ACP agents (decode, convert, encode) over all recorded exchanges."""

from functools import partial
from pathlib import Path

import msgspec

from bench.claude import DELTAS, Exchange, micros, recorded_lines
from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average
from bench.plan import Plan
from everyagent.agents.acp import profiles
from everyagent.agents.acp.decode import AcpDecoder
from everyagent.agents.adapter import DecodedFrame
from everyagent.runtime.framing import Line

RECORDED = Path(__file__).parents[1] / "tests" / "golden"
AGENTS = ("copilot", "gemini", "qwen", "kimi", "goose")
A_FRAME = Standard(bar=60, goal=20, best="low")
A_DELTA = Standard(bar=20, goal=8, best="low")
#: Qwen's list of commands is one line of half a megabyte, which would be the whole mean.
LONGEST = 100_000


class Sent(msgspec.Struct, frozen=True):
    id: int | str | None = None
    method: str = ""


class Prompted:
    """A decoder of a session in which each prompt follows the end of the turn before."""

    def __init__(self, agent: str, sent: dict[int, str]) -> None:
        self._decoder = AcpDecoder(profiles.load(agent))
        self._decoder.sent.update(sent)
        self._prompts = iter([id for id, method in sent.items() if method == "session/prompt"])

    def decode(self, line: Line) -> DecodedFrame:
        if self._decoder.prompt is None and (id := next(self._prompts, None)) is not None:
            self._decoder.prompted(id, "")
        return self._decoder.decode(line)


def measure(plan: Plan) -> list[Figure]:
    load = load_average()
    cases = [(agent, folder) for agent in AGENTS for folder in sorted((RECORDED / agent).iterdir())]
    read = [(agent, _sent(folder), _lines(folder)) for agent, folder in cases]
    chunks = [
        line for agent, _, lines in read for line in lines if agent == "goose" and b'_message_chunk"' in line.body
    ]
    if not chunks:
        raise Unmeasured("the recorded exchanges have no text")
    streamed = [("goose", {1: "session/prompt"}, [chunks[0]] * DELTAS)]
    return [
        Figure(what=what, unit="µs", samples=[_micros(each) for _ in range(plan.repeats)], load=load, standard=standard)
        for what, each, standard in (
            ("the daemon's CPU for a message of an ACP agent", read, A_FRAME),
            ("the same for a text delta over ACP", streamed, A_DELTA),
        )
    ]


def _sent(folder: Path) -> dict[int, str]:
    rows = (folder / "frames.jsonl").read_bytes().splitlines()
    exchanges = [msgspec.json.decode(row, type=Exchange) for row in rows]
    sent = [msgspec.json.decode(each.msg, type=Sent) for each in exchanges if each.dir == "in"]
    return {each.id: each.method for each in sent if isinstance(each.id, int) and each.method}


def _lines(folder: Path) -> list[Line]:
    return [line for line in recorded_lines(folder) if len(line.body) <= LONGEST]


def _micros(cases: list[tuple[str, dict[int, str], list[Line]]]) -> float:
    """The mean of all lines."""
    spent = sum(micros(agent, partial(Prompted, agent, sent), [lines]) * len(lines) for agent, sent, lines in cases)
    return spent / sum(len(lines) for _, _, lines in cases)
