"""What is said in a session and by its sub-agents, as drafts: each message of the model is an item.

Every update tells all that OpenCode knows, so the same update twice, or one that was missed, does no harm.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from everyagent.agents import items
from everyagent.agents.adapter import Draft, Synthetic
from everyagent.agents.opencode.decode import failures, notices
from everyagent.agents.opencode.decode.calls import Calls
from everyagent.agents.opencode.decode.usage import Meter
from everyagent.agents.opencode.protocol.wire import Delta, Message, Part
from everyagent.model.events import DeltaKind, ItemCompleted, ItemDelta, ItemStarted, ModelResponded
from everyagent.model.items import Item
from everyagent.model.parts import ContentPart, ReasoningPart, TextPart

#: So many messages that are over are remembered, to know a repetition.
REMEMBERED = 8192


class Piece:
    """A text or reasoning of a message, `length` of which is told. `torn`: some of it was missed, so the rest is
    told when it is whole.
    """

    __slots__ = ("index", "item", "kind", "length", "message", "text", "torn")

    def __init__(self, item: str, message: str, index: int, kind: DeltaKind) -> None:
        self.item = item
        self.message = message
        self.index = index
        self.kind: DeltaKind = kind
        self.length = 0
        self.text: str | None = None
        self.torn = False


class Speech:
    """A message of the model, as the item `key`, until all of it is told.

    `stepped`: the model's step is told to its end, with what it used in `responses`. `over`: OpenCode has ended it,
    with `failure` if it failed.
    """

    __slots__ = (
        *("failure", "key", "message", "model", "name", "over", "pieces", "responses", "session", "stepped"),
        "subagent",
    )

    def __init__(self, key: str, message: str, session: str, subagent: str | None, name: str | None) -> None:
        self.key = key
        self.message = message
        self.session = session
        self.subagent = subagent
        self.name = name
        self.model: str | None = None
        self.pieces: list[Piece] = []
        self.responses: list[ModelResponded] = []
        self.stepped = False
        self.over = False
        self.failure: str | None = None

    def item(self) -> Item:
        return items.message(self.key, native=self.message, subagent=self.subagent, name=self.name)

    def ended(self, why: str | None) -> Item:
        content = [_content(piece) for piece in self.pieces] if any(piece.text for piece in self.pieces) else []
        return replace(self.item(), status="failed" if why else "completed", content=content, error=why)


class Messages:
    """`main` is the session's own native id. Other sessions are its sub-agents'."""

    def __init__(self, servers: Mapping[str, str]) -> None:
        self.main = ""
        self.calls = Calls(servers)
        self.meter = Meter()
        self._children: dict[str, str] = {}  # session of a sub-agent -> key of the call that made it
        self._speeches: dict[str, Speech] = {}
        self._pieces: dict[str, Piece] = {}
        self._over: dict[str, None] = {}
        self._users: dict[str, None] = {}
        self._restarts = 0

    @property
    def open(self) -> bool:
        """The model has not ended what it says in the session itself."""
        return any(speech.session == self.main and not speech.over for speech in self._speeches.values())

    def knows(self, message: str) -> bool:
        return message in self._speeches or message in self._over or message in self._users

    # -- messages -----------------------------------------------------------------------------------------------

    def message(self, message: Message) -> Iterator[Draft]:
        """A busy OpenCode tells of a message as it is by now, so its end may come before what is in it."""
        if message.role != "assistant":
            _remember(self._users, message.id)
            return
        if message.id in self._over:
            return
        name = "compaction" if message.summary is True else None
        if message.id not in self._speeches:
            yield from self._settle(message.session)
            yield ItemStarted(item=self._begin(message.id, message.session, name).item())
        speech = self._speeches[message.id]
        if message.provider and message.model:
            speech.model = f"{message.provider}/{message.model}"
        if message.time.completed is not None or message.error:
            speech.over = True
            speech.failure = failures.message(message.error) if message.error else None
            if speech.stepped:
                yield from self._told_all(speech)

    def _settle(self, session: str) -> Iterator[Draft]:
        """What comes next is another message's: those that are over are told to their end."""
        for speech in [each for each in self._speeches.values() if each.over and each.session == session]:
            yield from self._told_all(speech)

    def _told_all(self, speech: Speech) -> Iterator[Draft]:
        self._end(speech.message)
        yield ItemCompleted(item=speech.ended(speech.failure))
        yield from speech.responses

    def _begin(self, message: str, session: str, name: str | None = None, key: str | None = None) -> Speech:
        speech = Speech(key or message, message, session, self.subagent(session), name)
        self._speeches[message] = speech
        return speech

    def _end(self, message: str) -> None:
        speech = self._speeches.pop(message, None)
        if speech:
            for part in [part for part, piece in self._pieces.items() if piece.message == message]:
                del self._pieces[part]
        _remember(self._over, message)

    # -- parts --------------------------------------------------------------------------------------------------

    def part(self, part: Part) -> Sequence[Draft] | None:
        """None for a part of a type that nobody knows."""
        handler = PARTS.get(part.type)
        return list(handler(self, part)) if handler else None

    def text(self, part: Part) -> Iterator[Draft]:
        """Of a user's words, only those that a sub-agent is told are not an item already."""
        if part.message in self._users or (part.time is None and not self.knows(part.message)):
            if part.session != self.main and not part.synthetic:
                yield from self._told(part)
            return
        if part.message in self._over:
            return
        stub, speech = self._speech(part)
        yield from stub
        piece = self._piece(part, speech)
        if part.time is None or part.time.end is None:
            piece.torn = piece.torn or len(part.text) > piece.length
            return
        piece.text = part.text
        if len(part.text) > piece.length:
            rest, piece.length = part.text[piece.length :], len(part.text)
            yield _delta(piece, rest)

    def _told(self, part: Part) -> Iterator[Draft]:
        told = items.message(
            part.id,
            native=part.message,
            subagent=self.subagent(part.session),
            role="user",
            content=[TextPart(text=part.text)],
            status="completed",
        )
        yield ItemCompleted(item=told)

    def tool(self, part: Part) -> Iterator[Draft]:
        if part.state.time and part.state.time.compacted is not None:
            return
        child = part.state.metadata.get("sessionId")
        if isinstance(child, str):
            self._children.setdefault(child, part.id)
        if part.message in self._over:
            yield from self.calls.update(part, part.message, self.subagent(part.session))
            return
        stub, speech = self._speech(part)
        yield from stub
        yield from self.calls.update(part, speech.key, speech.subagent)

    def step_finished(self, part: Part) -> Iterator[Draft]:
        """What it used is told after what was said in it."""
        used = self.meter.read(part)
        speech = self._speeches.get(part.message)
        if speech:
            speech.stepped = True
        if used is None:
            return
        subagent, cost = self.subagent(part.session), part.cost or None
        if speech:
            speech.responses.append(ModelResponded(usage=used, model=speech.model, subagent=subagent, cost_usd=cost))
        else:
            yield ModelResponded(usage=used, subagent=subagent, cost_usd=cost)

    def patched(self, part: Part) -> Iterator[Draft]:
        yield from notices.patch(part, self.subagent(part.session))

    def filed(self, part: Part) -> Iterator[Draft]:
        """A user's own files are part of the message that has them."""
        if part.message in self._speeches:
            yield from notices.file(part, self.subagent(part.session))

    def compacting(self, part: Part) -> Iterator[Draft]:
        yield from notices.compacting(part, self.subagent(part.session))

    def delegated(self, part: Part) -> Iterator[Draft]:
        yield from notices.subtask(part, self.subagent(part.session))

    def nothing(self, part: Part) -> Iterator[Draft]:
        yield from ()

    def delta(self, delta: Delta, session: str, *, gap: bool) -> Sequence[Draft]:
        """`gap`: the stream was cut in this turn, so that what is unknown may have begun in between."""
        piece = self._pieces.get(delta.part)
        if piece is None:
            if gap or delta.message in self._over:
                return ()
            return self._unannounced(delta, session)
        if piece.torn or piece.text is not None:
            return ()
        piece.length += len(delta.delta)
        return (_delta(piece, delta.delta),)

    def _unannounced(self, delta: Delta, session: str) -> Sequence[Draft]:
        part = Part(type="text", id=delta.part, message=delta.message, session=session)
        stub, speech = self._speech(part)
        piece = self._piece(part, speech)
        piece.length = len(delta.delta)
        return (*stub, _delta(piece, delta.delta))

    def _speech(self, part: Part) -> tuple[list[Draft], Speech]:
        """The message of a part; one that nobody announced gets a stub."""
        speech = self._speeches.get(part.message)
        if speech:
            return [], speech
        speech = self._begin(part.message, part.session)
        return [Synthetic(ItemStarted(item=speech.item()))], speech

    def _piece(self, part: Part, speech: Speech) -> Piece:
        piece = self._pieces.get(part.id)
        if piece is None:
            kind: DeltaKind = "reasoning" if part.type == "reasoning" else "text"
            piece = self._pieces[part.id] = Piece(speech.key, part.message, len(speech.pieces), kind)
            speech.pieces.append(piece)
        return piece

    # -- ends ---------------------------------------------------------------------------------------------------

    def starts_over(self, session: str, why: str) -> Iterator[Draft]:
        """The model's stream was cut: what it was saying is said again, in the same message."""
        for speech in [each for each in self._speeches.values() if each.session == session]:
            if not any(piece.length for piece in speech.pieces):
                continue
            self._restarts += 1
            self._end(speech.message)
            del self._over[speech.message]
            yield Synthetic(ItemCompleted(item=speech.ended(why)))
            again = self._begin(speech.message, session, speech.name, f"{speech.message} {self._restarts}")
            yield Synthetic(ItemStarted(item=again.item()))

    def tear(self) -> None:
        """Something may have been missed."""
        for piece in self._pieces.values():
            piece.torn = True

    def cut(self, why: str) -> Iterator[Draft]:
        """The turn is over: what OpenCode left open gets its end."""
        yield from self.calls.cut(why)
        for speech in list(self._speeches.values()):
            if speech.over:
                yield from self._told_all(speech)
            else:
                self._end(speech.message)
                yield Synthetic(ItemCompleted(item=speech.ended(why)))
                yield from speech.responses

    # -- sub-agents ---------------------------------------------------------------------------------------------

    def child(self, call: str) -> str | None:
        """The session of the sub-agent that works for a call."""
        made = (session for session, key in self._children.items() if key == call)
        return next(made, None) if self.calls.is_open(call) else None

    def subagent(self, session: str) -> str | None:
        return self._children.get(session) if session != self.main else None


def _remember(memory: dict[str, None], message: str) -> None:
    memory[message] = None
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]


def _content(piece: Piece) -> ContentPart:
    text = piece.text or ""
    return TextPart(text=text) if piece.kind == "text" else ReasoningPart(text=text, visibility="public")


def _delta(piece: Piece, text: str) -> ItemDelta:
    return ItemDelta(
        item_id=piece.item, native_item_id=piece.message, delta=text, content_index=piece.index, kind=piece.kind
    )


Handler: TypeAlias = Callable[[Messages, Part], Iterator[Draft]]

#: Every part type of the native schema: what becomes of it.
PARTS: dict[str, Handler] = {
    "text": Messages.text,
    "reasoning": Messages.text,
    "tool": Messages.tool,
    "step-start": Messages.nothing,
    "step-finish": Messages.step_finished,
    "patch": Messages.patched,
    "file": Messages.filed,
    "compaction": Messages.compacting,
    "subtask": Messages.delegated,
    "agent": Messages.nothing,
    "snapshot": Messages.nothing,
    "retry": Messages.nothing,
}
