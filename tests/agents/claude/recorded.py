"""Recorded exchanges with the real Claude Code, played through the decoder and the sequencer."""

from pathlib import Path

import msgspec
from tests.agents.sequenced_session import SequencedSession

from everyagent.agents.claude import encode
from everyagent.agents.claude.asks import APPROVE, APPROVE_EDITS, Ask, ClaudePlanAsk, ClaudeQuestionsAsk
from everyagent.agents.claude.decode import ClaudeDecoder
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer
from everyagent.model.events import Event
from everyagent.runtime.framing import Line

GOLDEN = Path(__file__).parents[2] / "golden" / "claude"


def cases() -> list[str]:
    return sorted(folder.name for folder in GOLDEN.iterdir())


class Exchange(msgspec.Struct, frozen=True):
    """`in` is a line to the program, `out` a line from it, `new` a new process in the permission mode `msg`."""

    dir: str
    msg: msgspec.Raw


_exchanges = msgspec.json.Decoder(Exchange)


def exchanges(case: str) -> list[Exchange]:
    lines = (GOLDEN / case / "frames.jsonl").read_bytes().split(b"\n")
    return [_exchanges.decode(line) for line in lines if line]


def lines_of(case: str) -> list[Line]:
    return [Line(bytes(exchange.msg)) for exchange in exchanges(case) if exchange.dir == "out"]


class SentFrame(msgspec.Struct, frozen=True):
    type: str = ""
    message: object = None
    response: object = None


class Permitted(msgspec.Struct, frozen=True):
    behavior: str = ""
    message: str | None = None
    updatedPermissions: list[dict[str, object]] | None = None
    updatedInput: dict[str, object] = {}


class Player:
    """Replays a case as a session would. `answers` are pairs of the recorded answer and ours."""

    def __init__(self) -> None:
        self.answers: list[tuple[Permitted, Permitted]] = []
        self._session = SequencedSession()
        self._decoder = ClaudeDecoder()

    def play(self, case: str) -> list[Event]:
        for exchange in exchanges(case):
            body = bytes(exchange.msg)
            match exchange.dir:
                case "in":
                    self._sent(body)
                case "out":
                    for draft in self._decoder.decode(Line(body)).drafts:
                        self._session.draft(draft)
                case _:
                    self._session.cut()
                    self._decoder = ClaudeDecoder(msgspec.json.decode(body, type=str))
        self._session.cut()
        return self._session.events

    def _sent(self, body: bytes) -> None:
        frame = msgspec.json.decode(body, type=SentFrame)
        if frame.type == "user":
            self._session.prompted()
        elif frame.type == "control_response":
            self._answered(msgspec.convert(frame.response, dict[str, object]))

    def _answered(self, response: dict[str, object]) -> None:
        key = str(response["request_id"])
        ask = self._decoder.asks.pop(key, None)
        if not ask or not self._session.pending(key):
            return
        try:
            recorded = msgspec.convert(response.get("response") or {}, Permitted)
        except msgspec.ValidationError:
            recorded = Permitted()
        answer = _answer(ask, recorded)
        self._session.answered(key, answer)
        if recorded.behavior:
            said = msgspec.json.decode(encode.answer(key, ask, answer), type=dict[str, dict[str, object] | str])
            ours = msgspec.convert(said["response"], dict[str, object])
            self.answers.append((recorded, msgspec.convert(ours["response"], Permitted)))


def _answer(ask: Ask, recorded: Permitted) -> Answer:
    """The client's answer that produces the recorded response."""
    allowed = recorded.behavior == "allow"
    match ask:
        case ClaudeQuestionsAsk() if allowed:
            given = msgspec.convert(recorded.updatedInput.get("answers", {}), dict[str, str])
            return QuestionAnswer(answers=[given.get(question, "").split(", ") for question in ask.questions])
        case ClaudePlanAsk() if allowed:
            return QuestionAnswer(answers=[[APPROVE_EDITS if recorded.updatedPermissions else APPROVE]])
        case ClaudeQuestionsAsk() | ClaudePlanAsk():
            return QuestionAnswer(answers=None, message=recorded.message)
        case _:
            reply = ("always" if recorded.updatedPermissions else "once") if allowed else "reject"
            return PermissionAnswer(reply=reply, message=recorded.message)
