"""Decodes streamed chunks into messages and reasoning items. Pure; used by `decode.py`."""

from collections.abc import Sequence
from typing import NamedTuple

from everyagent.agents import items
from everyagent.agents.acp import results
from everyagent.agents.acp.turns import ChunkKind
from everyagent.agents.acp.wire import ChunkUpdate
from everyagent.agents.adapter import Draft, Synthetic
from everyagent.model.events import ItemCompleted, ItemDelta, ItemStarted
from everyagent.model.parts import ContentPart, ReasoningPart, TextPart

#: A message that grows beyond this goes on as another item.
MAX_CHARS = 16 * 1024 * 1024


class _Open(NamedTuple):
    """The item that grows. `native` is the agent's id of the message, where it has one."""

    key: str
    native: str | None
    kind: ChunkKind
    pieces: list[str]


class AcpMessages:
    """The messages of one conversation. Few agents have ids of messages: without one, any other update ends it."""

    def __init__(self) -> None:
        self._open: _Open | None = None
        self._count = 0
        self._chars = 0
        self.spoken = False

    def chunk(self, update: ChunkUpdate, kind: ChunkKind) -> Sequence[Draft]:
        content = update.content
        if content.type != "text":
            return [*self.end(), *self.whole(results.part_of(content), update.message_id)]
        text = content.text
        if not text:
            return ()
        opened = self._open
        before: Sequence[Draft] = ()
        if (
            opened is None
            or opened.kind != kind
            or (update.message_id is not None and opened.native != update.message_id)
            or self._chars > MAX_CHARS
        ):
            before = [*self.end(), *self._begin(kind, update.message_id)]
            opened = self._open
            assert opened
        opened.pieces.append(text)
        self._chars += len(text)
        delta = ItemDelta(item_id=opened.key, native_item_id=opened.native, delta=text, content_index=0, kind=kind)
        return [*before, delta] if before else (delta,)

    def whole(self, part: ContentPart, native: str | None) -> Sequence[Draft]:
        """A message that comes complete."""
        self.spoken = True
        item = items.message(self._key(), native=native, subagent=None, content=[part], status="completed")
        return items.whole(item)

    def late(self, update: ChunkUpdate, kind: ChunkKind) -> Sequence[Draft]:
        """A chunk outside a turn. No event ends its message, so it is a message of its own."""
        if update.content.type == "text" and not update.content.text:
            return ()
        part = results.part_of(update.content)
        if kind == "reasoning" and isinstance(part, TextPart):
            part = ReasoningPart(text=part.text, visibility="public")
        return self.whole(part, update.message_id)

    def end(self) -> Sequence[Draft]:
        """Complete the message that is open."""
        opened, self._open = self._open, None
        if opened is None:
            return ()
        text = "".join(opened.pieces)
        part = TextPart(text=text) if opened.kind == "text" else ReasoningPart(text=text, visibility="public")
        item = items.message(opened.key, native=opened.native, subagent=None, content=[part], status="completed")
        return (ItemCompleted(item=item),)

    def _begin(self, kind: ChunkKind, native: str | None) -> Sequence[Draft]:
        self._open = _Open(self._key(), native, kind, [])
        self._chars = 0
        self.spoken = self.spoken or kind == "text"
        return (Synthetic(ItemStarted(item=items.message(self._open.key, native=native, subagent=None))),)

    def _key(self) -> str:
        self._count += 1
        return f"message {self._count}"
