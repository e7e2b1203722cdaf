"""Recorded exchanges with the real program, played through decoder, order, answers and rules."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from everyagent.agents.adapter import NativeSession, Synthetic
from everyagent.agents.claude import encode
from everyagent.agents.claude.asks import APPROVE, APPROVE_EDITS, Ask, PlanAsk, QuestionsAsk
from everyagent.agents.claude.decode import Decoder
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer
from everyagent.model.events import Envelope, Event, PermissionRequested, QuestionRequested, SessionStarted
from everyagent.model.items import Item
from everyagent.model.parts import TextPart
from everyagent.runtime.framing import Line
from everyagent.sessions.machine.sequencer import Emission, Sequencer

GOLDEN = Path(__file__).parents[2] / "golden" / "claude"


def cases() -> list[str]:
    return sorted(folder.name for folder in GOLDEN.iterdir())


class Exchange(msgspec.Struct, frozen=True):
    """`in` is what the program was told, `out` what it said, `new` is a new process in the permission mode `msg`."""

    dir: str
    msg: msgspec.Raw


_exchanges = msgspec.json.Decoder(Exchange)


def exchanges(case: str) -> list[Exchange]:
    lines = (GOLDEN / case / "frames.jsonl").read_bytes().split(b"\n")
    return [_exchanges.decode(line) for line in lines if line]


def lines_of(case: str) -> list[Line]:
    return [Line(bytes(exchange.msg)) for exchange in exchanges(case) if exchange.dir == "out"]


class Told(msgspec.Struct, frozen=True):
    type: str = ""
    message: object = None
    response: object = None


class Permitted(msgspec.Struct, frozen=True):
    behavior: str = ""
    message: str | None = None
    updatedPermissions: list[dict[str, object]] | None = None
    updatedInput: dict[str, object] = {}


class Player:
    """Plays a case as a session would. `answers` are pairs of what was recorded and what we would have said."""

    def __init__(self) -> None:
        self.answers: list[tuple[Permitted, Permitted]] = []
        self._counts: dict[str, int] = {}
        self._order = Sequencer(self._id)
        self._decoder = Decoder()
        self._sequence = 0
        self._native: str | None = None
        self._asked: dict[str, str] = {}  # native key of an ask -> the universal one

    def _id(self, prefix: str) -> str:
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}{self._counts[prefix]:06}"

    def play(self, case: str) -> Iterator[Event]:
        yield from self._envelopes([Emission(SessionStarted(), True)])
        for exchange in exchanges(case):
            match exchange.dir:
                case "in":
                    yield from self._told(bytes(exchange.msg))
                case "out":
                    yield from self._heard(bytes(exchange.msg))
                case _:
                    yield from self._envelopes(self._order.end_turn("error", "The process ended."))
                    self._decoder = Decoder(msgspec.json.decode(exchange.msg, type=str))
        yield from self._envelopes(self._order.end_turn("error", "The process ended."))

    def _told(self, body: bytes) -> Iterator[Event]:
        frame = msgspec.json.decode(body, type=Told)
        if frame.type == "user":
            yield from self._prompted()
        elif frame.type == "control_response":
            yield from self._answered(msgspec.convert(frame.response, dict[str, object]))

    def _prompted(self) -> Iterator[Event]:
        """A prompt while a turn runs is steered into it."""
        item = Item(
            item_id=self._id("itm_"),
            native_item_id=None,
            parent_id=None,
            kind="message",
            role="user",
            status="completed",
            content=[TextPart(text="(a prompt)")],
        )
        running = self._order.turn_id is not None
        yield from self._envelopes(self._order.say(item) if running else self._order.start_turn([item]))

    def _answered(self, response: dict[str, object]) -> Iterator[Event]:
        key = str(response["request_id"])
        ask, ask_id = self._decoder.asks.pop(key, None), self._asked.get(key)
        if not ask or not ask_id or not self._order.asks.pending(ask_id):
            return
        try:
            recorded = msgspec.convert(response.get("response") or {}, Permitted)
        except msgspec.ValidationError:
            recorded = Permitted()
        answer = _answer(ask, recorded)
        resolved = self._order.asks.resolve(ask_id, answer)
        self._order.asks.forget(resolved)
        if recorded.behavior:
            said = msgspec.json.decode(encode.answer(key, ask, answer), type=dict[str, dict[str, object] | str])
            ours = msgspec.convert(said["response"], dict[str, object])
            self.answers.append((recorded, msgspec.convert(ours["response"], Permitted)))
        yield from self._envelopes([Emission(resolved, True)])

    def _heard(self, body: bytes) -> Iterator[Event]:
        for draft in self._decoder.decode(Line(body)).drafts:
            match draft:
                case NativeSession():
                    self._native = draft.id
                    continue
                case Synthetic():
                    emissions = self._order.apply(draft.data, synthetic=True)
                case PermissionRequested() | QuestionRequested():
                    emissions = self._order.apply(draft)
                    key = draft.permission_id if isinstance(draft, PermissionRequested) else draft.question_id
                    for data, _ in emissions:
                        if isinstance(data, PermissionRequested):
                            self._asked[key] = data.permission_id
                        elif isinstance(data, QuestionRequested):
                            self._asked[key] = data.question_id
                case _:
                    emissions = self._order.apply(draft)
            yield from self._envelopes(emissions)

    def _envelopes(self, emissions: Iterable[Emission]) -> Iterator[Event]:
        for data, synthetic in emissions:
            self._sequence += 1
            yield Envelope(
                event_id=f"evt_{self._sequence:06}",
                sequence=self._sequence,
                time="2026-01-01T00:00:00.000000Z",
                session_id="s",
                native_session_id=self._native,
                source="daemon" if synthetic else "agent",
                synthetic=synthetic,
                type=data.type,
                data=data,
            )


def _answer(ask: Ask, recorded: Permitted) -> Answer:
    """The answer of a client that leads to the recorded response."""
    allowed = recorded.behavior == "allow"
    match ask:
        case QuestionsAsk() if allowed:
            given = msgspec.convert(recorded.updatedInput.get("answers", {}), dict[str, str])
            return QuestionAnswer(answers=[given.get(question, "").split(", ") for question in ask.questions])
        case PlanAsk() if allowed:
            return QuestionAnswer(answers=[[APPROVE_EDITS if recorded.updatedPermissions else APPROVE]])
        case QuestionsAsk() | PlanAsk():
            return QuestionAnswer(answers=None, message=recorded.message)
        case _:
            reply = ("always" if recorded.updatedPermissions else "once") if allowed else "reject"
            return PermissionAnswer(reply=reply, message=recorded.message)
