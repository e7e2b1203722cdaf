"""The prompt of a judge, its turn, and the verdict in its messages."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from everyagent.managed.projection.events import ModelRequestUsage
from everyagent.managed.projection.spans import model_usage
from everyagent.model.decoding import decode_event
from everyagent.model.events import ItemCompleted, TurnEnded
from everyagent.model.items import text_of
from everyagent.model.sessions import SendMessage
from everyagent.sessions import Sessions

RESULTS = ("satisfied", "needs_revision", "failed")
_SAID_CHARS = 20_000
_PROMPT = """\
You judge the work of another agent in this folder. Look at the files if you need to; change nothing.

The outcome it works towards:

{description}

What it said last:

{said}

Answer with one JSON object, and nothing after it: {{"result": "...", "explanation": "..."}}. `result` is "satisfied" \
if the work meets the rubric, "needs_revision" if it can be improved, "failed" if the rubric cannot be applied. In \
`explanation`, say what is missing.

The rubric:

{rubric}"""


class OutcomeVerdict(NamedTuple):
    result: str
    explanation: str


class Judgement(NamedTuple):
    verdict: OutcomeVerdict
    usage: ModelRequestUsage
    cost_usd: float


class _Given(msgspec.Struct):
    result: str
    explanation: str = ""


def judge_prompt(description: str, said: str, rubric: str) -> str:
    return _PROMPT.format(description=description, said=said[-_SAID_CHARS:] or "(nothing)", rubric=rubric)


async def verdict_in(sessions: Sessions, judge: str, message: SendMessage) -> Judgement:
    """Runs the judge's turn. If the judge asks for something, its turn is cancelled."""
    texts: list[str] = []
    async for chunk in await sessions.stream_turn(judge, message, raw=False):
        for stored in chunk.events if chunk else ():
            event = decode_event(stored.body)
            match event.data:
                case ItemCompleted(item=item) if item.kind == "message" and item.role == "assistant":
                    texts.append(text_of(item))
                case TurnEnded(stop_reason="error") as ended:
                    why = OutcomeVerdict("failed", f"The judge failed: {ended.error or 'its turn failed'}")
                    return Judgement(why, model_usage(ended.usage), ended.cost_usd or 0.0)
                case TurnEnded() as ended:
                    return Judgement(found_in("\n".join(texts)), model_usage(ended.usage), ended.cost_usd or 0.0)
                case _ if event.type.endswith(".requested"):
                    await sessions.cancel(judge)
                case _:
                    continue
    return Judgement(OutcomeVerdict("failed", "The evaluation was cancelled."), ModelRequestUsage(), 0.0)


def found_in(text: str) -> OutcomeVerdict:
    """The last JSON object in a text that is a verdict."""
    for start in _braces(text):
        for end in _ends(text, start):
            try:
                given = msgspec.json.decode(text[start:end], type=_Given)
            except msgspec.DecodeError:
                continue
            if given.result in RESULTS:
                return OutcomeVerdict(given.result, given.explanation)
    return OutcomeVerdict("failed", f"The judge gave no verdict. It said: {text[-500:]}")


def _braces(text: str) -> Iterator[int]:
    start = text.rfind("{")
    while start >= 0:
        yield start
        start = text.rfind("{", 0, start)


def _ends(text: str, start: int) -> Iterator[int]:
    end = text.find("}", start)
    for _ in range(20):
        if end < 0:
            return
        yield end + 1
        end = text.find("}", end + 1)
