"""Recorded exchanges with the real app-server, played through router, decoders, order, answers and rules."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from tests.agents.sequenced_session import SequencedSession

from everyagent.agents.codex.decode import asks
from everyagent.agents.codex.decode.asks import Ask
from everyagent.agents.codex.decode.decoder import CodexDecoder
from everyagent.agents.codex.decode.effects import ImmediateAnswer
from everyagent.agents.codex.protocol import rpc
from everyagent.agents.codex.protocol.routing import ThreadRouter
from everyagent.agents.codex.protocol.rpc import RpcMessage
from everyagent.agents.codex.protocol.wire import Id
from everyagent.model.asks import Answer, PermissionAnswer, PermissionReply, QuestionAnswer
from everyagent.model.events import Event
from everyagent.runtime.framing import Line

GOLDEN = Path(__file__).parents[2] / "golden" / "codex"
#: What `codex exec --json` said: a protocol that we do not speak.
EXEC = GOLDEN.with_name("codex-exec")


def cases(folder: Path = GOLDEN) -> list[str]:
    return sorted(case.name for case in folder.iterdir())


class Exchange(msgspec.Struct, frozen=True):
    """`in` is the input of the app-server, `out` its output, `new` starts a new process."""

    dir: str
    msg: msgspec.Raw


class Told(msgspec.Struct, frozen=True):
    id: Id | None = None
    method: str | None = None
    params: dict[str, object] = {}
    result: dict[str, object] | None = None


_exchanges = msgspec.json.Decoder(Exchange)


def exchanges(case: str, folder: Path = GOLDEN) -> list[Exchange]:
    lines = (folder / case / "frames.jsonl").read_bytes().split(b"\n")
    return [_exchanges.decode(line) for line in lines if line]


def lines_of(case: str, folder: Path = GOLDEN) -> list[Line]:
    return [Line(bytes(exchange.msg)) for exchange in exchanges(case, folder) if exchange.dir == "out"]


class Session(SequencedSession):
    """One thread, as a session."""

    def __init__(self) -> None:
        super().__init__(echo=True)
        self.decoder = CodexDecoder("/workspace")
        self.thread: str | None = None

    def received(self, said: RpcMessage) -> None:
        for draft in self.decoder.decode(said).drafts:
            self.draft(draft)

    def cut(self) -> None:
        super().cut()
        self.decoder = CodexDecoder("/workspace")


class Player:
    """Plays a case as the daemon would. `answers` are pairs of what was recorded and what we would have said."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.answers: list[tuple[object, object]] = []
        self.router: ThreadRouter[Session] = ThreadRouter([])

    def play(self, case: str) -> "Player":
        for exchange in exchanges(case):
            match exchange.dir:
                case "in":
                    self._told(msgspec.json.decode(exchange.msg, type=Told))
                case "out":
                    for session, said in self.router.route(rpc.read(Line(bytes(exchange.msg)))):
                        session.received(said)
                        if session.decoder.opened:
                            session.thread = session.decoder.opened.thread.id
                case _:
                    self.router = ThreadRouter([])
                    for session in self.sessions:
                        session.cut()
        for session in self.sessions:
            session.cut()
        return self

    def _told(self, told: Told) -> None:
        if told.method is None:
            self._answered(told)
            return
        session = self._session(told)
        if session is None or told.id is None:
            return
        session.decoder.sent[told.id] = told.method
        self.router.ask(told.id, session)
        if told.method in ("turn/start", "turn/steer", "thread/compact/start"):
            session.prompted()

    def _session(self, told: Told) -> Session | None:
        thread = told.params.get("threadId")
        session = next((each for each in self.sessions if thread and each.thread == thread), None)
        if session is None and told.method in ("thread/start", "thread/resume"):
            session = Session()
            self.sessions.append(session)
        if session and session not in self.router.owners:
            self.router.owners.append(session)
        return session

    def _answered(self, told: Told) -> None:
        key = f"ask {told.id}"
        for session in self.sessions:
            _, ask = session.decoder.asks.take(key) or (None, None)
            if ask:
                answer = _answer(ask, told.result or {})
                session.answered(key, answer)
                self.answers.append((told.result, msgspec.to_builtins(asks.response(ask, answer))))

    def unanswered(self) -> list[object]:
        """Requests that only a refusal or an answer of our own would end."""
        return [
            effect
            for session in self.sessions
            for effect in session.decoder.effects
            if isinstance(effect, ImmediateAnswer)
        ]


_REPLIES: dict[str, PermissionReply] = {"accept": "once", "acceptForSession": "always"}


def _answer(ask: Ask, recorded: dict[str, object]) -> Answer:
    """The answer of a client that leads to the recorded response."""
    match ask:
        case asks.CodexQuestionsAsk():
            given = msgspec.convert(recorded.get("answers", {}), dict[str, dict[str, list[str]]])
            answers = [given.get(id, {}).get("answers", []) for id in ask.ids]
            return QuestionAnswer(answers=answers if given else None)
        case asks.CodexFormAsk():
            return QuestionAnswer(answers=[[]] if recorded.get("action") == "accept" else None)
        case _:
            decision = recorded.get("decision") or recorded.get("action")
            return PermissionAnswer(reply=_REPLIES.get(str(decision), "reject"))


def told_of(player: Player) -> Iterator[Event]:
    for session in player.sessions:
        yield from session.events
