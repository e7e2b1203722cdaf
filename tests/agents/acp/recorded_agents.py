"""Recorded exchanges with real ACP agents, played through the decoder and the sequencer."""

from pathlib import Path

import msgspec
from tests.agents.sequenced_session import SequencedSession

from everyagent.agents.acp import answers, profiles
from everyagent.agents.acp.asks import AcpAsk, AcpChoiceAsk, AcpFormAsk, AcpPermissionAsk, AcpQuestionsAsk
from everyagent.agents.acp.decode import AcpDecoder
from everyagent.agents.acp.effects import SettledAcpRequest, UnservedAcpRequest
from everyagent.agents.acp.profile import Profile
from everyagent.agents.registry import ACP_AGENTS
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer
from everyagent.model.events import Event
from everyagent.runtime.framing import Line

GOLDEN = Path(__file__).parents[2] / "golden"
#: OpenCode has an adapter of its own; its exchanges over ACP are those of an agent without a profile.
AGENTS = (*ACP_AGENTS, "opencode-acp")


def profile_of(agent: str) -> Profile:
    return profiles.load(agent) if agent in ACP_AGENTS else Profile(name=agent, title=agent)


def cases() -> list[tuple[str, str]]:
    return [(agent, folder.name) for agent in AGENTS for folder in sorted((GOLDEN / agent).iterdir())]


class AcpExchange(msgspec.Struct, frozen=True):
    """`in` is a line to the agent, `out` a line from it, `text` a line that is no JSON, `new` a new process."""

    dir: str
    msg: msgspec.Raw = msgspec.Raw(b"null")


class SentMessage(msgspec.Struct, frozen=True):
    id: int | str | None = None
    method: str = ""
    params: dict[str, object] = {}
    result: dict[str, object] | None = None


_exchanges = msgspec.json.Decoder(AcpExchange)


def exchanges(agent: str, case: str) -> list[AcpExchange]:
    lines = (GOLDEN / agent / case / "frames.jsonl").read_bytes().split(b"\n")
    return [_exchanges.decode(line) for line in lines if line]


def line_of(exchange: AcpExchange) -> Line:
    if exchange.dir == "text":
        return Line(msgspec.json.decode(exchange.msg, type=str).encode())
    return Line(bytes(exchange.msg))


class AcpPlayer:
    """Replays a case as a session would. `answers` are pairs of the recorded answer and ours."""

    def __init__(self, agent: str) -> None:
        self.answers: list[tuple[dict[str, object], dict[str, object]]] = []
        self.unserved: list[str] = []
        self._profile = profile_of(agent)
        self._session = SequencedSession()
        self._decoder = AcpDecoder(self._profile, servers=["testtable"])

    def play(self, exchanges: list[AcpExchange]) -> list[Event]:
        for exchange in exchanges:
            match exchange.dir:
                case "in":
                    self._sent(msgspec.json.decode(exchange.msg, type=SentMessage))
                case "new":
                    self._session.cut()
                    self._decoder = AcpDecoder(self._profile, servers=["testtable"])
                case _:
                    self._received(line_of(exchange))
        self._session.cut()
        return self._session.events

    def _received(self, line: Line) -> None:
        for draft in self._decoder.decode(line).drafts:
            self._session.draft(draft)
        for effect in self._decoder.effects:
            match effect:
                case UnservedAcpRequest():
                    self.unserved.append(effect.method)
                case SettledAcpRequest():
                    pass
                case _:
                    pass
        self._decoder.effects.clear()

    def _sent(self, message: SentMessage) -> None:
        decoder = self._decoder
        if not message.method:
            self._answered(message)
            return
        if isinstance(message.id, int):
            decoder.sent[message.id] = message.method
        match message.method:
            case "session/prompt" if isinstance(message.id, int) and decoder.prompt is None:
                decoder.replaying = False
                self._session.prompted()
                blocks = msgspec.convert(message.params["prompt"], list[dict[str, object]])
                decoder.prompted(message.id, "".join(str(block.get("text", "")) for block in blocks))
            case "session/load" | "session/resume":
                decoder.replaying = True
            case "session/cancel":
                decoder.cancelled = True
            case "session/set_config_option":
                self._chose(str(message.params["configId"]), str(message.params["value"]))
            case "session/set_mode":
                decoder.native = str(message.params["modeId"])
            case _:
                pass

    def _chose(self, option: str, value: str) -> None:
        """The options of the recorded agents have the names of their categories, or these."""
        category = {"thinking": "thought_level", "thinking_effort": "thought_level", "effort": "thought_level"}
        self._decoder.options.current[category.get(option, option)] = value

    def _answered(self, message: SentMessage) -> None:
        key = msgspec.json.encode(message.id).decode()
        ask = self._decoder.asks.pop(key, None)
        if ask is None or message.result is None:
            return
        answer = _answer(ask, message.result)
        if answer:
            self._session.answered(key, answer)
            self.answers.append((message.result, answers.response(ask, answer)))


def _answer(ask: AcpAsk, recorded: dict[str, object]) -> Answer | None:
    """The client's answer that produces the recorded result; None if it was cancelled."""
    chosen = msgspec.convert(recorded.get("outcome", {}), dict[str, str]).get("optionId")
    match ask:
        case AcpPermissionAsk():
            if chosen is None:
                return None
            kind = next(option.kind for option in ask.options if option.option_id == chosen)
            reply = "reject" if kind.startswith("reject") else "always" if kind == "allow_always" else "once"
            return PermissionAnswer(reply=reply)
        case AcpChoiceAsk():
            names = [[option.name] for option in ask.options if option.option_id == chosen]
            return QuestionAnswer(answers=names) if chosen else None
        case AcpQuestionsAsk():
            given = msgspec.convert(recorded.get("answers", {}), dict[str, str])
            return QuestionAnswer(answers=[[words] for words in given.values()]) if given else None
        case AcpFormAsk():
            if recorded.get("action") != "accept":
                return QuestionAnswer(answers=None) if recorded.get("action") == "decline" else None
            content = msgspec.convert(recorded["content"], dict[str, str | bool | list[str]])
            return QuestionAnswer(answers=[_words(content[name]) for name in ask.fields if name in content])


def _words(value: str | bool | list[str]) -> list[str]:
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return value if isinstance(value, list) else [value]
