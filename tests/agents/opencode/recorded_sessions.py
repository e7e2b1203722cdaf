"""Recorded exchanges with the real server, played through router, decoders, order, answers and rules."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from tests.agents.sequenced_session import SequencedSession

from everyagent.agents.opencode.decode import asks
from everyagent.agents.opencode.decode.decoder import OpencodeDecoder
from everyagent.agents.opencode.protocol import native_event, wire
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.agents.opencode.protocol.routing import SessionRouter
from everyagent.model.asks import Answer, PermissionAnswer, PermissionReply, QuestionAnswer
from everyagent.model.events import Event

GOLDEN = Path(__file__).parents[2] / "golden" / "opencode"
_PROMPTS = frozenset({"prompt_async", "message", "summarize", "shell", "command"})


def cases() -> list[str]:
    return sorted(folder.name for folder in GOLDEN.iterdir())


class Exchange(msgspec.Struct, frozen=True):
    """`in` is a request, `back` its answer, `out` an event, `line` what the command line printed, `new` a process."""

    dir: str
    msg: msgspec.Raw


class Told(msgspec.Struct, frozen=True):
    method: str
    path: str
    status: int = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


class Reply(msgspec.Struct, frozen=True):
    reply: PermissionReply | None = None
    response: PermissionReply | None = None
    message: str | None = None
    answers: list[list[str]] | None = None


_exchanges = msgspec.json.Decoder(Exchange)


def exchanges(case: str) -> list[Exchange]:
    lines = (GOLDEN / case / "frames.jsonl").read_bytes().split(b"\n")
    return [_exchanges.decode(line) for line in lines if line]


def events_of(case: str) -> list[bytes]:
    return [bytes(exchange.msg) for exchange in exchanges(case) if exchange.dir == "out"]


def servers_of(case: str) -> Iterator[str]:
    """The MCP servers of the case's session, which its daemon has asked for."""
    for exchange in exchanges(case):
        if exchange.dir == "back":
            told = msgspec.json.decode(exchange.msg, type=Told)
            if told.path == "/mcp":
                yield from msgspec.json.decode(told.body, type=dict[str, object] | None) or {}


class Session(SequencedSession):
    """One native session, as one of everyagent. `servers` are its MCP servers, as the decoder wants them."""

    def __init__(self, native: str, servers: dict[str, str] | None = None) -> None:
        super().__init__(native, echo=True)
        self._servers = servers or {}
        self.renew()

    def renew(self) -> None:
        self.decoder = OpencodeDecoder("/workspace", servers=self._servers, now=lambda: 1794770000.0)
        self.decoder.session = self.native or ""

    def prompted(self) -> None:
        super().prompted()
        self.decoder.prompted()

    def received(self, said: NativeEvent) -> None:
        for draft in self.decoder.decode(said).drafts:
            self.draft(draft)

    def cut(self) -> None:
        super().cut()
        self.renew()


class Player:
    """Plays a case as the daemon would. `answers` are pairs of what was recorded and what we would have said."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.answers: list[tuple[object, object]] = []
        self._router: SessionRouter[Session] = SessionRouter()
        self._servers: dict[str, str] = {}

    def play(self, case: str) -> "Player":
        self._servers = {f"{server}_": server for server in servers_of(case)}
        for exchange in exchanges(case):
            match exchange.dir:
                case "in":
                    self._told(msgspec.json.decode(exchange.msg, type=Told))
                case "back":
                    self._opened(msgspec.json.decode(exchange.msg, type=Told))
                case "out":
                    self.hear(native_event.read(bytes(exchange.msg)))
                case "new":
                    for session in self.sessions:
                        session.cut()
                case _:
                    continue
        for session in self.sessions:
            session.cut()
        return self

    def hear(self, event: NativeEvent) -> None:
        if event.session is None:
            for session in self.sessions:
                session.received(event)
        for session, each in self._router.route(event):
            session.received(each)

    def _opened(self, told: Told) -> None:
        if told.method == "POST" and told.path == "/session" and told.status == 200:
            session = Session(msgspec.json.decode(told.body, type=wire.OpencodeSessionInfo).id, self._servers)
            self.sessions.append(session)
            self._router.own(session.decoder.session, session)

    def _told(self, told: Told) -> None:
        if told.method != "POST":
            return
        match told.path.strip("/").split("/"):
            case ["session", native, action] if action in _PROMPTS and bytes(told.body) != b"null":
                for session in self._of(native):
                    session.prompted()
            case ["session", native, "abort"]:
                for session in self._of(native):
                    if session.decoder.turn:
                        session.decoder.turn.interrupted = True
            case ["permission", key, "reply"] | ["session", _, "permissions", key]:
                self._replied("permission", key, told)
            case ["question", key, "reply" | "reject"]:
                self._replied("question", key, told)
            case _:
                return

    def _replied(self, kind: asks.AskKind, key: str, told: Told) -> None:
        for session in self.sessions:
            if session.decoder.asks.take(key):
                reply = msgspec.json.decode(told.body, type=Reply | None) or Reply()
                answer = _answer(kind, reply)
                session.answered(key, answer)
                request = asks.response(kind, key, answer)
                if told.path.startswith(f"/{kind}"):
                    recorded = (told.path, msgspec.json.decode(told.body))
                    self.answers.append((recorded, (request.path, request.body)))

    def _of(self, native: str) -> list[Session]:
        return [session for session in self.sessions if session.native == native]


def _answer(kind: asks.AskKind, reply: Reply) -> Answer:
    """The answer of a client that leads to the recorded request."""
    if kind == "question":
        return QuestionAnswer(answers=reply.answers)
    return PermissionAnswer(reply=reply.reply or reply.response or "reject", message=reply.message)


def told_of(player: Player) -> Iterator[Event]:
    for session in player.sessions:
        yield from session.events
