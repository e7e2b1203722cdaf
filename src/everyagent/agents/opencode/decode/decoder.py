"""Decodes OpenCode's events into drafts. No I/O; one decoder for each session, with the state of its turn."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from everyagent.agents import items
from everyagent.agents.adapter import DecodedFrame, Draft, Frame, NativeSession
from everyagent.agents.opencode.decode import failures, notices
from everyagent.agents.opencode.decode.effects import AbortTurn, AllowPermission, CheckTurn, OpencodeEffect
from everyagent.agents.opencode.decode.messages import PARTS, SessionMessages
from everyagent.agents.opencode.decode.open_asks import OpencodeOpenAsks
from everyagent.agents.opencode.decode.turns import OpencodeTurn, Snapshot
from everyagent.agents.opencode.policy.policies import SessionPolicies
from everyagent.agents.opencode.protocol import wire
from everyagent.agents.opencode.protocol.ignored import IGNORED
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.agents.unknown_items import unknown_item, value_at
from everyagent.agents.unparsed import BROKEN, undecodable, unparsed
from everyagent.model.events import Error, SessionUpdated, TurnEnded, TurnStarted

P = TypeVar("P")
Handler: TypeAlias = Callable[["OpencodeDecoder", NativeEvent], Sequence[Draft] | None]

LOCATION = "agents/opencode/decode.py"
_CUT = "The model's stream was cut; the agent repeats this item."
_OPEN = "The turn ended before this did."
_INTERRUPTED = "The turn was interrupted."
_LONG = (
    "OpenCode's event stream was lost, and the turn has more messages than the daemon fetches afterwards: "
    "some older ones are missing here. OpenCode itself has them all."
)
#: The title of a session that OpenCode has not named yet.
_UNNAMED = ("New session - ", "Child session - ")


class EventEnvelope(Struct, Generic[P], frozen=True):
    properties: P


class OpencodeDecoder:
    """`effects` are carried out by the driver after each batch; it removes them.

    `turn` is the one that runs. `titled`: the session has a title of the user's own.
    `servers` are its MCP servers: the beginning of their tools' names -> their own name.
    """

    def __init__(
        self,
        directory: str = "",
        *,
        servers: Mapping[str, str] | None = None,
        titled: bool = False,
        put: Callable[[DecodedFrame], None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.effects: list[OpencodeEffect] = []
        self.turn: OpencodeTurn | None = None
        self.model: wire.ModelRef | None = None
        self._directory = directory
        self._now = now
        self._messages = SessionMessages(servers or {})
        self.policies = SessionPolicies(servers or {}, find=self._messages.calls.by_id, put=put)
        self.asks = OpencodeOpenAsks(self._messages.calls, self.policies)
        self._titled = titled
        self._title = ""
        self._failed = self._announced = False
        self._notices = self._unknown = 0
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

    def decode(self, event: NativeEvent) -> DecodedFrame:
        """Never raises: an event that cannot be decoded becomes `agent.unparsed`, with the event as its frame."""
        if event.problem:
            return unparsed(event.body, event.problem, LOCATION)
        try:
            drafts = self._dispatch(event)
        except BROKEN as problem:
            return unparsed(event.body, str(problem), LOCATION)
        except Exception as fault:  # noqa: BLE001 - logged; it costs this event only
            return undecodable(event.body, fault, LOCATION)
        if drafts is None:
            return unparsed(event.body, f"unknown event {event.type!r}", LOCATION)
        return DecodedFrame(Frame("from_agent", event.body), drafts)

    def _dispatch(self, event: NativeEvent) -> Sequence[Draft] | None:
        handler = MAPPED.get(event.type)
        if handler:
            return handler(self, event)
        return () if event.type in IGNORED else None

    # -- turns ------------------------------------------------------------------------------------------------

    def prompted(self) -> None:
        """A turn begins, unless one runs: then the prompt is part of it."""
        if self.turn is None:
            self._begin()

    def refused(self, why: str) -> Iterator[Draft]:
        """Our request failed, so the turn is over."""
        if self.turn:
            self.turn.gave_up = why
            yield Error(message=why, code="internal")
            yield from self._end(self.turn)

    def _begin(self, since: float | None = None) -> None:
        """`since`: older messages, in milliseconds since 1970, are of an earlier turn."""
        self.turn = OpencodeTurn(int(self._now() * 1000) if since is None else since)
        self._failed = False
        self._diffs = []

    def status(self, event: NativeEvent, notice: wire.StatusNotice) -> Iterator[Draft]:
        status, turn = notice.status, self.turn
        if turn is None:
            return
        own = event.session == self.session
        if status.type == "idle":
            if own:
                yield from self._idle(turn)
            return
        turn.busy = turn.busy or own
        if status.type == "retry":
            yield from self._retrying(turn, event.session or "", status)

    def idle(self, event: NativeEvent, notice: wire.EmptyNotice) -> Iterator[Draft]:
        if self.turn and event.session == self.session:
            yield from self._idle(self.turn)

    def _idle(self, turn: OpencodeTurn) -> Iterator[Draft]:
        if turn.settled and not self._messages.open:
            yield from self._end(turn)
        elif turn.begun and not any(isinstance(effect, CheckTurn) for effect in self.effects):
            self.effects.append(CheckTurn())

    def _end(self, turn: OpencodeTurn) -> Iterator[Draft]:
        reason, error = turn.end()
        yield from self._messages.cut(_INTERRUPTED if reason == "interrupted" else _OPEN)
        if self._diffs:
            yield from notices.turn_diff(self._notice_key("diff"), self._diffs)
        used, cost = self._messages.meter.take()
        yield TurnEnded(turn_id="", stop_reason=reason, usage=used, cost_usd=cost, error=error)
        self._failed = reason == "error"
        self.turn, self._compaction = None, None
        self.asks.clear()

    def _retrying(self, turn: OpencodeTurn, session: str, status: wire.SessionStatus) -> Iterator[Draft]:
        delay = max(0, int(status.next - self._now() * 1000))
        if turn.gave_up:
            return
        if status.attempt > failures.RETRY_LIMIT or delay > failures.WAIT_LIMIT_MS:
            given_up = failures.gave_up(status)
            turn.gave_up = given_up.message
            self.effects.append(AbortTurn())
            yield given_up
            return
        yield replace(failures.retrying(status, delay), subagent=self._messages.subagent(session))
        yield from self._messages.starts_over(session, _CUT)

    def failed(self, event: NativeEvent, notice: wire.OpencodeErrorNotice) -> Iterator[Draft]:
        """OpenCode wraps a failure in a second one, which it sends after the turn."""
        failure, turn = notice.error, self.turn
        if failure is None or (turn is None and self._failed):
            return
        own = event.session == self.session
        if turn and own:
            turn.failed(failure)
        if failure.name != failures.ABORTED:
            yield failures.error(failure)
            if turn and own and not turn.begun:
                yield from self._end(turn)

    # -- messages ---------------------------------------------------------------------------------------------

    def message(self, event: NativeEvent, notice: wire.MessageNotice) -> Iterator[Draft]:
        yield from self._message(notice.info)

    def _message(self, message: wire.OpencodeMessage) -> Iterator[Draft]:
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
                self.turn.responded(message, new=new)
                self.model = wire.ModelRef(message.model, message.provider)
        yield from self._messages.message(message)

    def part(self, event: NativeEvent, notice: wire.PartNotice) -> Sequence[Draft] | None:
        drafts = self._part(notice.part)
        return self._unknown_part(event.body, notice.part) if drafts is None else drafts

    def _unknown_part(self, body: bytes, part: wire.OpencodePart) -> Sequence[Draft]:
        """Each update of such a part is an item."""
        self._unknown += 1
        key, json = f"{part.id} {self._unknown}", value_at(body, "properties", "part")
        subagent, parent = self._messages.subagent(part.session), part.message
        return items.whole(unknown_item(key, part.type, json, native=part.id or None, subagent=subagent, parent=parent))

    def _part(self, part: wire.OpencodePart) -> Sequence[Draft] | None:
        if self.turn is None:
            return () if part.type in PARTS else None
        if part.type == "compaction" and part.session == self.session:
            self._compaction = part.id
        return self._messages.part(part)

    def delta(self, event: NativeEvent) -> Sequence[Draft]:
        delta = _deltas.decode(event.body).properties
        turn = self.turn
        if turn is None or delta.field_ != "text":
            return ()
        return self._messages.delta(delta, event.session or self.session, gap=turn.gap)

    def compacted(self, event: NativeEvent, notice: wire.EmptyNotice) -> Iterator[Draft]:
        if self._compaction and event.session == self.session:
            yield from notices.compacted(self._compaction)
            self._compaction = None

    # -- asks -------------------------------------------------------------------------------------------------

    def is_early(self, event: NativeEvent) -> bool:
        """A permission that a client is to be asked for, of a call whose input has not arrived yet."""
        if event.type != "permission.asked" or event.problem or self.turn is None:
            return False
        try:
            return self.asks.is_early(_permissions.decode(event.body).properties)
        except BROKEN:
            return False

    def permission_asked(self, event: NativeEvent, asked: wire.PermissionAsked) -> Iterator[Draft]:
        request = self.asks.permission(asked) if self.turn else None
        if isinstance(request, AllowPermission):
            self.effects.append(request)
        elif request:
            yield request

    def question_asked(self, event: NativeEvent, asked: wire.QuestionAsked) -> Iterator[Draft]:
        request = self.asks.question(asked) if self.turn else None
        if request:
            yield request

    def replied(self, event: NativeEvent, replied: wire.AskSettled) -> Iterator[Draft]:
        resolved = self.asks.replied(replied)
        if resolved:
            yield resolved

    # -- the rest ---------------------------------------------------------------------------------------------

    def named(self) -> NativeSession:
        """The session as our request was answered: its start, unless that was an event already."""
        started, self._announced = not self._announced, True
        return NativeSession(self.session, started=started)

    def created(self, event: NativeEvent, notice: wire.SessionNotice) -> Iterator[Draft]:
        if notice.info.id == self.session and not self._announced:
            self._announced = True
            yield SessionUpdated(native_session_id=self.session)
        yield from self.titled(event, notice)

    def titled(self, event: NativeEvent, notice: wire.SessionNotice) -> Iterator[Draft]:
        session = notice.info
        if session.id != self.session:
            return
        if session.model:
            self.model = session.model
        if self._titled or session.title in ("", self._title) or session.title.startswith(_UNNAMED):
            return
        self._title = session.title
        yield SessionUpdated(title=session.title)

    def planned(self, event: NativeEvent, notice: wire.TodoNotice) -> Iterator[Draft]:
        if event.session == self.session:
            yield from notices.plan(self._notice_key("plan"), notice.todos)

    def edited(self, event: NativeEvent, notice: wire.FileNotice) -> Iterator[Draft]:
        """Sent to every session of the directory, but reported only by that whose call edits the file."""
        call = self._messages.calls.about(self._directory, notice.file)
        if call:
            yield from notices.edited(self._notice_key("edited"), notice.file, call)

    def browser_wanted(self, event: NativeEvent, notice: wire.McpNotice) -> Iterator[Draft]:
        yield from notices.needs_browser(self._notice_key("mcp"), notice.mcp, notice.url)

    def _notice_key(self, what: str) -> str:
        self._notices += 1
        return f"{what} {self._notices}"

    # -- after events were missed -----------------------------------------------------------------------------

    def tear(self) -> None:
        """Events were lost: deltas of open parts may be missing."""
        if self.turn:
            self.turn.gap = True
            self._messages.tear()

    def catch_up(self, snapshot: Snapshot, *, idle: bool = False) -> Iterator[Draft]:
        """`idle`: the turn is over if OpenCode does nothing, even if a message has no end."""
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
            yield from self.permission_asked(_NO_EVENT, permission)
        for question in filter(self.asks.is_live, snapshot.questions):
            yield from self.question_asked(_NO_EVENT, question)
        yield from self.asks.withdraw({ask.id for ask in (*snapshot.permissions, *snapshot.questions)})
        if not snapshot.busy and turn is self.turn and turn.begun:
            yield from self._end(turn) if idle else self._idle(turn)

    def _delivered(self, delivered: wire.Delivered) -> Iterable[Draft]:
        """The message, then its parts, then its end."""
        message = delivered.info
        begun = msgspec.structs.replace(message, time=wire.MessageTime(message.time.created), error=None)
        yield from self._message(begun if message.role == "assistant" else message)
        for part in delivered.parts:
            yield from self._part(part) or ()
        yield from self._message(message)


_NO_EVENT = NativeEvent(b"")


def _handled(kind: type[P], handle: Callable[[OpencodeDecoder, NativeEvent, P], Iterable[Draft] | None]) -> Handler:
    decoder = msgspec.json.Decoder(EventEnvelope[kind])

    def decode(self: OpencodeDecoder, event: NativeEvent) -> Sequence[Draft] | None:
        drafts = handle(self, event, decoder.decode(event.body).properties)
        return None if drafts is None else list(drafts)

    return decode


_permissions = msgspec.json.Decoder(EventEnvelope[wire.PermissionAsked])
_deltas = msgspec.json.Decoder(EventEnvelope[wire.OpencodeDelta])

#: Every event that something is made of.
MAPPED: dict[str, Handler] = {
    "message.part.delta": OpencodeDecoder.delta,
    "message.part.updated": _handled(wire.PartNotice, OpencodeDecoder.part),
    "message.updated": _handled(wire.MessageNotice, OpencodeDecoder.message),
    "session.status": _handled(wire.StatusNotice, OpencodeDecoder.status),
    "session.idle": _handled(wire.EmptyNotice, OpencodeDecoder.idle),
    "session.error": _handled(wire.OpencodeErrorNotice, OpencodeDecoder.failed),
    "session.created": _handled(wire.SessionNotice, OpencodeDecoder.created),
    "session.updated": _handled(wire.SessionNotice, OpencodeDecoder.titled),
    "session.compacted": _handled(wire.EmptyNotice, OpencodeDecoder.compacted),
    "permission.asked": _handled(wire.PermissionAsked, OpencodeDecoder.permission_asked),
    "permission.replied": _handled(wire.AskSettled, OpencodeDecoder.replied),
    "question.asked": _handled(wire.QuestionAsked, OpencodeDecoder.question_asked),
    "question.replied": _handled(wire.AskSettled, OpencodeDecoder.replied),
    "question.rejected": _handled(wire.AskSettled, OpencodeDecoder.replied),
    "todo.updated": _handled(wire.TodoNotice, OpencodeDecoder.planned),
    "file.edited": _handled(wire.FileNotice, OpencodeDecoder.edited),
    "mcp.browser.open.failed": _handled(wire.McpNotice, OpencodeDecoder.browser_wanted),
}
