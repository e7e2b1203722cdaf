"""Decodes messages and their parts, of a session and its sub-agents, into drafts: each of the model's is an item.

Every update is complete, so an update that is repeated or missed does no harm.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from everyagent.agents import items
from everyagent.agents.adapter import Draft, Echo, Synthetic
from everyagent.agents.memory import remember
from everyagent.agents.opencode.decode import failures, notices
from everyagent.agents.opencode.decode.calls import OpencodeCalls
from everyagent.agents.opencode.decode.usage import StepMeter
from everyagent.agents.opencode.protocol.wire import OpencodeDelta, OpencodeMessage, OpencodePart
from everyagent.model.events import DeltaKind, ItemCompleted, ItemDelta, ItemStarted, ModelResponded
from everyagent.model.items import Item
from everyagent.model.parts import ContentPart, ReasoningPart, TextPart

#: Messages that are over and are remembered, to recognise a repetition.
REMEMBERED = 8192


class MessagePart:
    """A text or reasoning of a message, `length` of which is drafted, in this item from `start` on. `torn`: deltas were
    missed, so the rest is drafted when the part is complete.
    """

    __slots__ = ("index", "item", "kind", "length", "message", "start", "text", "torn")

    def __init__(self, item: str, message: str, index: int, kind: DeltaKind) -> None:
        self.item = item
        self.message = message
        self.index = index
        self.kind: DeltaKind = kind
        self.length = self.start = 0
        self.text: str | None = None
        self.torn = False

    @property
    def is_whole(self) -> bool:
        """All of it so far is drafted."""
        return self.length > 0 and not self.torn


class OpenMessageItem:
    """A message of the model, as the item `key`, until it is complete.

    `stepped`: the model's step has ended; its usage is in `responses`. `over`: OpenCode has ended the message,
    with `failure` if it failed. `complete`: the item is complete, because a call followed its text; text after that is
    another item.
    """

    __slots__ = (
        *("failure", "key", "message", "model", "name", "over", "pieces", "responses", "session", "stepped"),
        *("subagent", "complete"),
    )

    def __init__(self, key: str, message: str, session: str, subagent: str | None, name: str | None) -> None:
        self.key = key
        self.message = message
        self.session = session
        self.subagent = subagent
        self.name = name
        self.model: str | None = None
        self.pieces: list[MessagePart] = []
        self.responses: list[ModelResponded] = []
        self.stepped = False
        self.over = False
        self.failure: str | None = None
        self.complete = False

    def go_on(self, key: str, pieces: list[MessagePart]) -> None:
        """Text follows a call: it becomes another item."""
        self.key, self.complete, self.pieces = key, False, pieces
        for piece in pieces:
            piece.item, piece.index, piece.start = key, 0, piece.length

    def item(self) -> Item:
        return items.message(self.key, native=self.message, subagent=self.subagent, name=self.name)

    def ended(self, why: str | None) -> Item:
        content = [_content(piece) for piece in self.pieces] if any(piece.text for piece in self.pieces) else []
        return replace(self.item(), status="failed" if why else "completed", content=content, error=why)


class SessionMessages:
    """`main` is the session's own native id. Other sessions are its sub-agents'."""

    def __init__(self, servers: Mapping[str, str]) -> None:
        self.main = ""
        self.calls = OpencodeCalls(servers)
        self.meter = StepMeter()
        self._children: dict[str, str] = {}  # session of a sub-agent -> key of the call that made it
        self._items: dict[str, OpenMessageItem] = {}
        self._pieces: dict[str, MessagePart] = {}
        self._over: dict[str, None] = {}
        self._users: dict[str, None] = {}
        self._restarts = 0

    @property
    def open(self) -> bool:
        """The model has an open message in the session itself."""
        return any(item.session == self.main and not item.over for item in self._items.values())

    def knows(self, message: str) -> bool:
        return message in self._items or message in self._over or message in self._users

    # -- messages -----------------------------------------------------------------------------------------------

    def message(self, message: OpencodeMessage) -> Iterator[Draft]:
        """A busy OpenCode sends the latest state of a message, so its end may come before its parts."""
        if message.role != "assistant":
            if message.session == self.main and message.id not in self._users:
                yield Echo(message.id)
            remember(self._users, message.id, None, REMEMBERED)
            return
        if message.id in self._over:
            return
        name = "compaction" if message.summary is True else None
        if message.id not in self._items:
            yield from self._settle(message.session)
            yield ItemStarted(item=self._begin(message.id, message.session, name).item())
        item = self._items[message.id]
        if message.provider and message.model:
            item.model = f"{message.provider}/{message.model}"
        if message.time.completed is not None or message.error:
            item.over = True
            item.failure = failures.message(message.error) if message.error else None
            if item.stepped:
                yield from self._complete(item)

    def _settle(self, session: str) -> Iterator[Draft]:
        """Another message begins: those that are over are completed."""
        for item in [each for each in self._items.values() if each.over and each.session == session]:
            yield from self._complete(item)

    def _complete(self, item: OpenMessageItem) -> Iterator[Draft]:
        self._end(item.message)
        if not item.complete:
            yield ItemCompleted(item=item.ended(item.failure))
        yield from item.responses

    def _begin(self, message: str, session: str, name: str | None = None, key: str | None = None) -> OpenMessageItem:
        item = OpenMessageItem(key or message, message, session, self.subagent(session), name)
        self._items[message] = item
        return item

    def _end(self, message: str) -> None:
        item = self._items.pop(message, None)
        if item:
            for part in [part for part, piece in self._pieces.items() if piece.message == message]:
                del self._pieces[part]
        remember(self._over, message, None, REMEMBERED)

    # -- parts --------------------------------------------------------------------------------------------------

    def part(self, part: OpencodePart) -> Sequence[Draft] | None:
        """None for a part of an unknown type."""
        handler = PARTS.get(part.type)
        return list(handler(self, part)) if handler else None

    def text(self, part: OpencodePart) -> Iterator[Draft]:
        """A user message is an item already, unless it is a sub-agent's prompt."""
        if part.message in self._users or (part.time is None and not self.knows(part.message)):
            if part.session != self.main and not part.synthetic:
                yield from self._prompt(part)
            return
        if part.message in self._over:
            return
        stub, item = self._open_item(part)
        yield from stub
        piece = self._piece(part, item)
        if part.time is None or part.time.end is None:
            piece.torn = piece.torn or len(part.text) > piece.length
            return
        piece.text = part.text
        if len(part.text) > piece.length:
            self._resume(piece)
            rest, piece.length = part.text[piece.length :], len(part.text)
            yield _delta(piece, rest)

    def _prompt(self, part: OpencodePart) -> Iterator[Draft]:
        prompt = items.message(
            part.id,
            native=part.message,
            subagent=self.subagent(part.session),
            role="user",
            content=[TextPart(text=part.text)],
            status="completed",
        )
        yield ItemCompleted(item=prompt)

    def tool(self, part: OpencodePart) -> Iterator[Draft]:
        if part.state.time and part.state.time.compacted is not None:
            return
        child = part.state.metadata.get("sessionId")
        if isinstance(child, str) and child not in self._children:
            remember(self._children, child, part.id, REMEMBERED)
        if part.message in self._over:
            yield from self.calls.update(part, part.message, self.subagent(part.session))
            return
        stub, item = self._open_item(part)
        yield from stub
        yield from self._tell(item)
        yield from self.calls.update(part, item.key, item.subagent)

    def _tell(self, item: OpenMessageItem) -> Iterator[Draft]:
        """Completes the text before a call, so that it comes first. OpenCode may end its part much later."""
        if not item.complete and item.pieces and all(piece.text is not None or piece.is_whole for piece in item.pieces):
            item.complete = True
            yield ItemCompleted(item=item.ended(None))

    def step_finished(self, part: OpencodePart) -> Iterator[Draft]:
        """Reports a step's usage after its message."""
        used = self.meter.read(part)
        item = self._items.get(part.message)
        if item:
            item.stepped = True
        if used is None:
            return
        subagent, cost = self.subagent(part.session), part.cost or None
        if item:
            item.responses.append(ModelResponded(usage=used, model=item.model, subagent=subagent, cost_usd=cost))
        else:
            yield ModelResponded(usage=used, subagent=subagent, cost_usd=cost)

    def patched(self, part: OpencodePart) -> Iterator[Draft]:
        yield from notices.patch(part, self.subagent(part.session))

    def filed(self, part: OpencodePart) -> Iterator[Draft]:
        """Files of the user are part of the user's message."""
        if part.message in self._items:
            yield from notices.file(part, self.subagent(part.session))

    def compacting(self, part: OpencodePart) -> Iterator[Draft]:
        yield from notices.compacting(part, self.subagent(part.session))

    def delegated(self, part: OpencodePart) -> Iterator[Draft]:
        yield from notices.subtask(part, self.subagent(part.session))

    def nothing(self, part: OpencodePart) -> Iterator[Draft]:
        yield from ()

    def delta(self, delta: OpencodeDelta, session: str, *, gap: bool) -> Sequence[Draft]:
        """`gap`: events of this turn were lost, so an unknown part may have begun in between."""
        piece = self._pieces.get(delta.part)
        if piece is None:
            if gap or delta.message in self._over:
                return ()
            return self._unannounced(delta, session)
        if piece.torn or piece.text is not None:
            return ()
        self._resume(piece)
        piece.length += len(delta.delta)
        return (_delta(piece, delta.delta),)

    def _resume(self, piece: MessagePart) -> None:
        """A part grows after its item was completed."""
        item = self._items.get(piece.message)
        if item and item.complete and piece in item.pieces:
            self._restarts += 1
            item.go_on(f"{item.message} {self._restarts}", [piece])

    def _unannounced(self, delta: OpencodeDelta, session: str) -> Sequence[Draft]:
        part = OpencodePart(type="text", id=delta.part, message=delta.message, session=session)
        stub, item = self._open_item(part)
        piece = self._piece(part, item)
        piece.length = len(delta.delta)
        return (*stub, _delta(piece, delta.delta))

    def _open_item(self, part: OpencodePart) -> tuple[list[Draft], OpenMessageItem]:
        """The message of a part; one that was not announced gets a stub."""
        item = self._items.get(part.message)
        if item:
            return [], item
        item = self._begin(part.message, part.session)
        return [Synthetic(ItemStarted(item=item.item()))], item

    def _piece(self, part: OpencodePart, item: OpenMessageItem) -> MessagePart:
        piece = self._pieces.get(part.id)
        if piece is None:
            if item.complete:
                self._restarts += 1
                item.go_on(f"{item.message} {self._restarts}", [])
            kind: DeltaKind = "reasoning" if part.type == "reasoning" else "text"
            piece = self._pieces[part.id] = MessagePart(item.key, part.message, len(item.pieces), kind)
            item.pieces.append(piece)
        return piece

    # -- ends ---------------------------------------------------------------------------------------------------

    def starts_over(self, session: str, why: str) -> Iterator[Draft]:
        """The model's stream was cut: the model repeats its text, in the same message."""
        for item in [each for each in self._items.values() if each.session == session]:
            if item.complete or not any(piece.length for piece in item.pieces):
                continue
            self._restarts += 1
            self._end(item.message)
            del self._over[item.message]
            yield Synthetic(ItemCompleted(item=item.ended(why)))
            again = self._begin(item.message, session, item.name, f"{item.message} {self._restarts}")
            yield Synthetic(ItemStarted(item=again.item()))

    def tear(self) -> None:
        """Deltas may have been missed."""
        for piece in self._pieces.values():
            piece.torn = True

    def cut(self, why: str) -> Iterator[Draft]:
        """The turn is over: items that OpenCode left open are closed."""
        yield from self.calls.cut(why)
        for item in list(self._items.values()):
            if item.over:
                yield from self._complete(item)
            else:
                self._end(item.message)
                if not item.complete:
                    yield Synthetic(ItemCompleted(item=item.ended(why)))
                yield from item.responses

    # -- sub-agents ---------------------------------------------------------------------------------------------

    def child(self, call: str) -> str | None:
        """The session of the sub-agent that works for a call."""
        made = (session for session, key in self._children.items() if key == call)
        return next(made, None) if self.calls.is_open(call) else None

    def subagent(self, session: str) -> str | None:
        return self._children.get(session) if session != self.main else None


def _content(piece: MessagePart) -> ContentPart:
    text = (piece.text or "")[piece.start :]
    return TextPart(text=text) if piece.kind == "text" else ReasoningPart(text=text, visibility="public")


def _delta(piece: MessagePart, text: str) -> ItemDelta:
    return ItemDelta(
        item_id=piece.item, native_item_id=piece.message, delta=text, content_index=piece.index, kind=piece.kind
    )


Handler: TypeAlias = Callable[[SessionMessages, OpencodePart], Iterator[Draft]]

#: Every part type of the native schema: what becomes of it.
PARTS: dict[str, Handler] = {
    "text": SessionMessages.text,
    "reasoning": SessionMessages.text,
    "tool": SessionMessages.tool,
    "step-start": SessionMessages.nothing,
    "step-finish": SessionMessages.step_finished,
    "patch": SessionMessages.patched,
    "file": SessionMessages.filed,
    "compaction": SessionMessages.compacting,
    "subtask": SessionMessages.delegated,
    "agent": SessionMessages.nothing,
    "snapshot": SessionMessages.nothing,
    "retry": SessionMessages.nothing,
}
