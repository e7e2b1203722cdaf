"""Previews of messages that an agent is still writing, made from `item.delta` events for one stream, never stored.

A preview is a contiguous beginning of its event: no part of it comes after the event itself, and an item whose start
the stream did not see has none. The events of a chunk are decoded, and each preview is encoded, once for all streams.
"""

from collections.abc import Iterator
from itertools import chain

import msgspec

from everyagent.log.chunk import EventChunk
from everyagent.log.log import StoredEvent
from everyagent.managed.projection.naming import event_id
from everyagent.model.events import TYPE_NUMBERS, Envelope, ItemCompleted, ItemDelta, ItemStarted
from everyagent.model.items import Item

_STARTED = TYPE_NUMBERS[ItemStarted.type]
_DELTA = TYPE_NUMBERS[ItemDelta.type]
_COMPLETED = TYPE_NUMBERS[ItemCompleted.type]


class _OfItem(msgspec.Struct, frozen=True):
    item: Item


_items = msgspec.json.Decoder(Envelope[_OfItem])
_deltas = msgspec.json.Decoder(Envelope[ItemDelta])
_encode = msgspec.json.Encoder().encode


class _Start(msgspec.Struct, frozen=True):
    """The start of a message of the agent, or of a sub-agent."""

    item_id: str
    subagent: str | None


class _End(msgspec.Struct, frozen=True):
    item_id: str


class _Delta(msgspec.Struct):
    """`preview` is the same for every stream that saw the start of the item: they count its text parts alike."""

    data: ItemDelta
    preview: StoredEvent | None = None


_Change = _Start | _Delta | _End


def _decoded(chunk: EventChunk) -> list[_Change]:
    return list(_changes(chunk))


def _changes(chunk: EventChunk) -> Iterator[_Change]:
    for event in chunk.events:
        if event.type == _DELTA:
            delta = _deltas.decode(event.body).data
            if delta.kind in ("text", "reasoning"):
                yield _Delta(delta)
        elif event.type in (_STARTED, _COMPLETED):
            item = _items.decode(event.body).data.item
            if event.type == _COMPLETED:
                yield _End(item.item_id)
            elif item.kind == "message" and item.role == "assistant":
                yield _Start(item.item_id, item.subagent)


def _concatenated(parts: list[list[_Change]]) -> list[_Change]:
    return list(chain.from_iterable(parts))


class _OpenItem:
    """An item whose start was seen. `indexes` are the places of its text parts among its texts."""

    __slots__ = ("indexes", "message_id", "thinking")

    def __init__(self) -> None:
        self.indexes: dict[int, int] = {}
        self.message_id = ""
        self.thinking = False


class Previews:
    """The previews of one stream. `subagent` is the item that started the stream's thread, None for the session's."""

    def __init__(self, session_id: str, kinds: frozenset[str], subagent: str | None = None) -> None:
        self._session_id = session_id
        self._messages = "agent.message" in kinds
        self._thinking = "agent.thinking" in kinds
        self._subagent = subagent
        self._open: dict[str, _OpenItem] = {}

    def of(self, chunk: EventChunk) -> list[StoredEvent]:
        """Their sequences are 0: a stream cannot be resumed after a preview."""
        return list(self._made(chunk.derived(_decoded, _concatenated)))

    def _made(self, changes: list[_Change]) -> Iterator[StoredEvent]:
        for change in changes:
            match change:
                case _Delta():
                    if opened := self._open.get(change.data.item_id):
                        yield from self._delta(opened, change)
                case _Start():
                    if change.subagent == self._subagent:
                        self._open[change.item_id] = _OpenItem()
                case _End():
                    self._open.pop(change.item_id, None)

    def _delta(self, opened: _OpenItem, change: _Delta) -> Iterator[StoredEvent]:
        delta = change.data
        if delta.kind == "reasoning" and self._thinking and not opened.thinking:
            opened.thinking = True
            yield _start("agent.thinking", event_id(self._session_id, "thinking", delta.item_id))
        elif delta.kind == "text" and self._messages and delta.delta:
            if not opened.message_id:
                opened.message_id = event_id(self._session_id, "message", delta.item_id)
                yield _start("agent.message", opened.message_id)
            index = opened.indexes.setdefault(delta.content_index, len(opened.indexes))
            if change.preview is None:
                content = {"type": "text", "text": delta.delta}
                part = {"type": "content_delta", "index": index, "content": content}
                change.preview = _event({"type": "event_delta", "event_id": opened.message_id, "delta": part})
            yield change.preview


def _start(kind: str, made: str) -> StoredEvent:
    return _event({"type": "event_start", "event": {"type": kind, "id": made}})


def _event(preview: object) -> StoredEvent:
    return StoredEvent(0, 0, _encode(preview))
