"""Recorded exchanges with the real server, played through router, decoders, order, answers and rules."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from everyagent.agents.adapter import Draft, NativeSession, Synthetic
from everyagent.agents.opencode import asks, said, wire
from everyagent.agents.opencode.decode import Decoder
from everyagent.agents.opencode.routing import Router
from everyagent.agents.opencode.said import Said
from everyagent.model.asks import Answer, PermissionAnswer, PermissionReply, QuestionAnswer
from everyagent.model.events import Envelope, Event, PermissionRequested, QuestionRequested, SessionStarted
from everyagent.model.items import Item
from everyagent.model.parts import TextPart
from everyagent.sessions.order import Order, Woven
from everyagent.testing.rules import Rules

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


class Session:
    """One native session, told as ours."""

    def __init__(self, native: str) -> None:
        self.events: list[Event] = []
        self.native = native
        self.order = Order(self._id)
        self._counts: dict[str, int] = {}
        self._asked: dict[str, str] = {}  # the adapter's key of an ask -> the universal one
        self.renew()
        self.tell([Woven(SessionStarted(), True)])

    def renew(self) -> None:
        self.decoder = Decoder("/workspace", now=lambda: 1794770000.0)
        self.decoder.session = self.native

    def _id(self, prefix: str) -> str:
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}{self._counts[prefix]:06}"

    def prompted(self) -> None:
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
        self.tell(self.order.say(item) if self.order.turn_id else self.order.start_turn([item]))
        self.decoder.prompted()

    def heard(self, said: Said) -> None:
        for draft in self.decoder.decode(said).drafts:
            self.draft(draft)

    def draft(self, draft: Draft) -> None:
        match draft:
            case NativeSession():
                return
            case Synthetic():
                self.tell(self.order.apply(draft.data, synthetic=True))
            case PermissionRequested() | QuestionRequested():
                woven = self.order.apply(draft)
                key = draft.permission_id if isinstance(draft, PermissionRequested) else draft.question_id
                for data, _ in woven:
                    if isinstance(data, PermissionRequested):
                        self._asked[key] = data.permission_id
                    elif isinstance(data, QuestionRequested):
                        self._asked[key] = data.question_id
                self.tell(woven)
            case _:
                self.tell(self.order.apply(draft))

    def answered(self, key: str, answer: Answer) -> None:
        ask_id = self._asked.get(key, "")
        if self.order.asks.pending(ask_id):
            resolved = self.order.asks.resolve(ask_id, answer)
            self.order.asks.forget(resolved)
            self.tell([Woven(resolved, True)])

    def cut(self) -> None:
        self.tell(self.order.end_turn("error", "The process ended."))
        self.renew()

    def tell(self, woven: Iterable[Woven]) -> None:
        for data, synthetic in woven:
            sequence = len(self.events) + 1
            self.events.append(
                Envelope(
                    event_id=f"evt_{sequence:06}",
                    sequence=sequence,
                    time="2026-01-01T00:00:00.000000Z",
                    session_id="s",
                    native_session_id=self.native,
                    source="daemon" if synthetic else "agent",
                    synthetic=synthetic,
                    type=data.type,
                    data=data,
                )
            )


class Player:
    """Plays a case as the daemon would. `answers` are pairs of what was recorded and what we would have said."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.answers: list[tuple[object, object]] = []
        self._router: Router[Session] = Router()

    def play(self, case: str) -> "Player":
        for exchange in exchanges(case):
            match exchange.dir:
                case "in":
                    self._told(msgspec.json.decode(exchange.msg, type=Told))
                case "back":
                    self._opened(msgspec.json.decode(exchange.msg, type=Told))
                case "out":
                    self.hear(said.read(bytes(exchange.msg)))
                case "new":
                    for session in self.sessions:
                        session.cut()
                case _:
                    continue
        for session in self.sessions:
            session.cut()
        return self

    def hear(self, event: Said) -> None:
        if event.session is None:
            for session in self.sessions:
                session.heard(event)
        for session, each in self._router.route(event):
            session.heard(each)

    def _opened(self, told: Told) -> None:
        if told.method == "POST" and told.path == "/session" and told.status == 200:
            session = Session(msgspec.json.decode(told.body, type=wire.Session).id)
            self.sessions.append(session)
            self._router.own(session.native, session)

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

    def _replied(self, kind: asks.Kind, key: str, told: Told) -> None:
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


def _answer(kind: asks.Kind, reply: Reply) -> Answer:
    """The answer of a client that leads to the recorded request."""
    if kind == "question":
        return QuestionAnswer(answers=reply.answers)
    return PermissionAnswer(reply=reply.reply or reply.response or "reject", message=reply.message)


def violations(events: Iterable[Event]) -> list[str]:
    rules = Rules()
    for event in events:
        rules.feed_body(msgspec.json.encode(event))
    return [str(each) for each in rules.finish()]


def told_of(player: Player) -> Iterator[Event]:
    for session in player.sessions:
        yield from session.events
