"""What OpenCode's server says into drafts. Pure but for what it remembers: one decoder for each session."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from everyagent.agents.adapter import Draft, Frame, Heard
from everyagent.agents.opencode.decode import failures, notices
from everyagent.agents.opencode.decode.messages import PARTS, Messages
from everyagent.agents.opencode.decode.turns import Turn
from everyagent.agents.opencode.driver.open_asks import Allow, Asking
from everyagent.agents.opencode.policy.policies import Policies
from everyagent.agents.opencode.protocol import wire
from everyagent.agents.opencode.protocol.ignored import IGNORED
from everyagent.agents.opencode.protocol.native_event import BROKEN, Said
from everyagent.model.events import Error, SessionUpdated, TurnEnded, TurnStarted, Unparsed

P = TypeVar("P")
Handler: TypeAlias = Callable[["Decoder", Said], Sequence[Draft] | None]

LOCATION = "agents/opencode/decode.py"
_CUT = "The model's stream was cut, so this is told anew."
_OPEN = "The turn ended before this did."
_INTERRUPTED = "The turn was interrupted."
_LONG = (
    "OpenCode's event stream was lost, and the turn has more messages than are read to make up for it: "
    "some of its older ones are not told. OpenCode itself has them all."
)
#: The title of a session that OpenCode has not named yet.
_UNNAMED = ("New session - ", "Child session - ")


class Envelope(Struct, Generic[P], frozen=True):
    properties: P


class GiveUp(Struct, frozen=True):
    """The model's API fails on and on: the turn is to be aborted."""


class Doubt(Struct, frozen=True):
    """OpenCode says that it is idle, and nothing else says that the turn is over: it is to be looked at."""


Aside: TypeAlias = Allow | GiveUp | Doubt


class Snapshot(Struct, frozen=True):
    """What OpenCode knows of a turn and its sub-agents, asked for after something may have been missed.

    `cut`: there was more than could be read.
    """

    messages: list[wire.Delivered]
    permissions: list[wire.PermissionAsked]
    questions: list[wire.QuestionAsked]
    busy: bool
    cut: bool = False


class Decoder:
    """`asides` is what the driver has to see to after each batch; it takes them out.

    `turn` is the one that runs. `titled`: the session has a title of the user's own.
    `servers` are its MCP servers: the beginning of their tools' names -> their own name.
    """

    def __init__(
        self,
        directory: str = "",
        *,
        servers: Mapping[str, str] | None = None,
        titled: bool = False,
        put: Callable[[Heard], None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.asides: list[Aside] = []
        self.turn: Turn | None = None
        self.model: wire.ModelRef | None = None
        self._directory = directory
        self._now = now
        self._messages = Messages(servers or {})
        self.policies = Policies(servers or {}, find=self._messages.calls.by_id, put=put)
        self.asks = Asking(self._messages.calls, self.policies)
        self._titled = titled
        self._title = ""
        self._failed = False
        self._notices = 0
        self._compaction: str | None = None
        self._diffs: list[wire.FileDiff] = []

    @property
    def session(self) -> str:
        return self._messages.main

    @session.setter
    def session(self, id: str) -> None:
        self._messages.main = id

    def child(self, call: str) -> str | None:
        return self._messages.child(call)

    def decode(self, said: Said) -> Heard:
        """Never fails: what it does not understand becomes an `Unparsed`, with the event as its frame."""
        if said.problem:
            return self._unparsed(said, said.problem)
        try:
            drafts = self._dispatch(said)
        except BROKEN as problem:
            return self._unparsed(said, str(problem))
        if drafts is None:
            return self._unparsed(said, f"unknown event {said.type!r}")
        return Heard(Frame("from_agent", said.body), drafts)

    def _dispatch(self, said: Said) -> Sequence[Draft] | None:
        handler = MAPPED.get(said.type)
        if handler:
            return handler(self, said)
        return () if said.type in IGNORED else None

    def _unparsed(self, said: Said, error: str) -> Heard:
        draft = Unparsed(error=error, location=LOCATION, raw_hash=hashlib.sha256(said.body).hexdigest())
        return Heard(Frame("from_agent", said.body, _form(said.body)), (draft,))

    # -- turns ------------------------------------------------------------------------------------------------

    def prompted(self) -> None:
        """What comes from now on is of a new turn, unless one runs: then it is said into that."""
        if self.turn is None:
            self._begin()

    def refused(self, why: str) -> Iterator[Draft]:
        """What we have sent came to nothing."""
        if self.turn:
            self.turn.gave_up = why
            yield Error(message=why, code="internal")
            yield from self._end(self.turn)

    def _begin(self, since: float | None = None) -> None:
        """`since`: what is older, in milliseconds since 1970, was told in an earlier turn."""
        self.turn = Turn(int(self._now() * 1000) if since is None else since)
        self._failed = False
        self._diffs = []

    def status(self, said: Said, notice: wire.StatusNotice) -> Iterator[Draft]:
        status, turn = notice.status, self.turn
        if turn is None:
            return
        own = said.session == self.session
        if status.type == "idle":
            if own:
                yield from self._idle(turn)
            return
        turn.busy = turn.busy or own
        if status.type == "retry":
            yield from self._retrying(turn, said.session or "", status)

    def idle(self, said: Said, notice: wire.Nothing) -> Iterator[Draft]:
        if self.turn and said.session == self.session:
            yield from self._idle(self.turn)

    def _idle(self, turn: Turn) -> Iterator[Draft]:
        if turn.settled and not self._messages.open:
            yield from self._end(turn)
        elif turn.begun and not any(isinstance(aside, Doubt) for aside in self.asides):
            self.asides.append(Doubt())

    def _end(self, turn: Turn) -> Iterator[Draft]:
        reason, error = turn.end()
        yield from self._messages.cut(_INTERRUPTED if reason == "interrupted" else _OPEN)
        if self._diffs:
            yield from notices.turn_diff(self._notice_key("diff"), self._diffs)
        used, cost = self._messages.meter.take()
        yield TurnEnded(turn_id="", stop_reason=reason, usage=used, cost_usd=cost, error=error)
        self._failed = reason == "error"
        self.turn, self._compaction = None, None
        self.asks.clear()

    def _retrying(self, turn: Turn, session: str, status: wire.Status) -> Iterator[Draft]:
        delay = max(0, int(status.next - self._now() * 1000))
        if turn.gave_up:
            return
        if status.attempt > failures.RETRY_LIMIT or delay > failures.WAIT_LIMIT_MS:
            given_up = failures.gave_up(status)
            turn.gave_up = given_up.message
            self.asides.append(GiveUp())
            yield given_up
            return
        yield replace(failures.retrying(status, delay), subagent=self._messages.subagent(session))
        yield from self._messages.starts_over(session, _CUT)

    def failed(self, said: Said, notice: wire.ErrorNotice) -> Iterator[Draft]:
        """OpenCode wraps a failure in a second one, which it tells after the turn."""
        failure, turn = notice.error, self.turn
        if failure is None or (turn is None and self._failed):
            return
        own = said.session == self.session
        if turn and own:
            turn.failed(failure)
        if failure.name != failures.ABORTED:
            yield failures.error(failure)
            if turn and own and not turn.begun:
                yield from self._end(turn)

    # -- messages ---------------------------------------------------------------------------------------------

    def message(self, said: Said, notice: wire.MessageNotice) -> Iterator[Draft]:
        yield from self._message(notice.info)

    def _message(self, message: wire.Message) -> Iterator[Draft]:
        own = message.session == self.session
        if not own and self.turn is None:
            return
        if message.role == "user":
            if own and isinstance(message.summary, wire.Summary) and message.summary.diffs:
                self._diffs = message.summary.diffs
        elif own:
            new = not self._messages.knows(message.id)
            if self.turn and new and message.time.created < self.turn.since:
                return
            if self.turn is None:
                if not new:
                    return
                self._begin(message.time.created)
                yield TurnStarted(turn_id="", input_item_ids=[])
            if self.turn:
                self.turn.said(message, new=new)
                self.model = wire.ModelRef(message.model, message.provider)
        yield from self._messages.message(message)

    def part(self, said: Said, notice: wire.PartNotice) -> Sequence[Draft] | None:
        return self._part(notice.part)

    def _part(self, part: wire.Part) -> Sequence[Draft] | None:
        if self.turn is None:
            return () if part.type in PARTS else None
        if part.type == "compaction" and part.session == self.session:
            self._compaction = part.id
        return self._messages.part(part)

    def delta(self, said: Said) -> Sequence[Draft]:
        delta = _deltas.decode(said.body).properties
        turn = self.turn
        if turn is None or delta.field_ != "text":
            return ()
        return self._messages.delta(delta, said.session or self.session, gap=turn.gap)

    def compacted(self, said: Said, notice: wire.Nothing) -> Iterator[Draft]:
        if self._compaction and said.session == self.session:
            yield from notices.compacted(self._compaction)
            self._compaction = None

    # -- asks -------------------------------------------------------------------------------------------------

    def permission_asked(self, said: Said, asked: wire.PermissionAsked) -> Iterator[Draft]:
        request = self.asks.permission(asked) if self.turn else None
        if isinstance(request, Allow):
            self.asides.append(request)
        elif request:
            yield request

    def question_asked(self, said: Said, asked: wire.QuestionAsked) -> Iterator[Draft]:
        request = self.asks.question(asked) if self.turn else None
        if request:
            yield request

    def replied(self, said: Said, replied: wire.Replied) -> Iterator[Draft]:
        resolved = self.asks.replied(replied)
        if resolved:
            yield resolved

    # -- the rest ---------------------------------------------------------------------------------------------

    def titled(self, said: Said, notice: wire.SessionNotice) -> Iterator[Draft]:
        session = notice.info
        if session.id != self.session:
            return
        if session.model:
            self.model = session.model
        if self._titled or session.title in ("", self._title) or session.title.startswith(_UNNAMED):
            return
        self._title = session.title
        yield SessionUpdated(title=session.title)

    def planned(self, said: Said, notice: wire.TodoNotice) -> Iterator[Draft]:
        if said.session == self.session:
            yield from notices.plan(self._notice_key("plan"), notice.todos)

    def edited(self, said: Said, notice: wire.FileNotice) -> Iterator[Draft]:
        """Told to every session of the directory: it is that one's whose call is busy with the file."""
        call = self._messages.calls.about(self._directory, notice.file)
        if call:
            yield from notices.edited(self._notice_key("edited"), notice.file, call)

    def browser_wanted(self, said: Said, notice: wire.McpNotice) -> Iterator[Draft]:
        yield from notices.needs_browser(self._notice_key("mcp"), notice.mcp, notice.url)

    def _notice_key(self, what: str) -> str:
        self._notices += 1
        return f"{what} {self._notices}"

    # -- after something was missed ---------------------------------------------------------------------------

    def tear(self) -> None:
        """The stream was cut: what follows may not follow from what was told."""
        if self.turn:
            self.turn.gap = True
            self._messages.tear()

    def catch_up(self, snapshot: Snapshot, *, doubted: bool = False) -> Iterator[Draft]:
        """`doubted`: the turn is over if OpenCode does nothing, even if it has not ended what it was saying."""
        turn = self.turn
        if turn is None:
            return
        if snapshot.cut:
            yield Error(message=_LONG, code="internal")
        for delivered in snapshot.messages:
            if delivered.info.time.created >= turn.since or self._messages.knows(delivered.info.id):
                yield from self._delivered(delivered)
        self._messages.tear()
        for permission in filter(self.asks.is_live, snapshot.permissions):
            yield from self.permission_asked(_UNSAID, permission)
        for question in filter(self.asks.is_live, snapshot.questions):
            yield from self.question_asked(_UNSAID, question)
        yield from self.asks.withdraw({ask.id for ask in (*snapshot.permissions, *snapshot.questions)})
        if not snapshot.busy and turn is self.turn and turn.begun:
            yield from self._end(turn) if doubted else self._idle(turn)

    def _delivered(self, delivered: wire.Delivered) -> Iterable[Draft]:
        """First that there is such a message, then what is in it, then its end."""
        message = delivered.info
        begun = msgspec.structs.replace(message, time=wire.MessageTime(message.time.created), error=None)
        yield from self._message(begun if message.role == "assistant" else message)
        for part in delivered.parts:
            yield from self._part(part) or ()
        yield from self._message(message)


_UNSAID = Said(b"")


def _form(body: bytes) -> Literal["json", "text", "bytes"]:
    try:
        body.decode()
        msgspec.json.decode(body)
    except UnicodeDecodeError:
        return "bytes"
    except (ValueError, RecursionError):
        return "text"
    return "json"


def _handled(kind: type[P], handle: Callable[[Decoder, Said, P], Iterable[Draft] | None]) -> Handler:
    decoder = msgspec.json.Decoder(Envelope[kind])

    def decode(self: Decoder, said: Said) -> Sequence[Draft] | None:
        drafts = handle(self, said, decoder.decode(said.body).properties)
        return None if drafts is None else list(drafts)

    return decode


_deltas = msgspec.json.Decoder(Envelope[wire.Delta])

#: Every event that something is made of.
MAPPED: dict[str, Handler] = {
    "message.part.delta": Decoder.delta,
    "message.part.updated": _handled(wire.PartNotice, Decoder.part),
    "message.updated": _handled(wire.MessageNotice, Decoder.message),
    "session.status": _handled(wire.StatusNotice, Decoder.status),
    "session.idle": _handled(wire.Nothing, Decoder.idle),
    "session.error": _handled(wire.ErrorNotice, Decoder.failed),
    "session.created": _handled(wire.SessionNotice, Decoder.titled),
    "session.updated": _handled(wire.SessionNotice, Decoder.titled),
    "session.compacted": _handled(wire.Nothing, Decoder.compacted),
    "permission.asked": _handled(wire.PermissionAsked, Decoder.permission_asked),
    "permission.replied": _handled(wire.Replied, Decoder.replied),
    "question.asked": _handled(wire.QuestionAsked, Decoder.question_asked),
    "question.replied": _handled(wire.Replied, Decoder.replied),
    "question.rejected": _handled(wire.Replied, Decoder.replied),
    "todo.updated": _handled(wire.TodoNotice, Decoder.planned),
    "file.edited": _handled(wire.FileNotice, Decoder.edited),
    "mcp.browser.open.failed": _handled(wire.McpNotice, Decoder.browser_wanted),
}
