"""Previews: what an agent is saying, before it has said it. Made from universal deltas, for one stream, never kept.

A preview is a contiguous beginning of the event it is of: nothing of an event comes after the event itself, and
nothing of one whose start this stream did not see.
"""

from collections.abc import Iterator, Sequence

import msgspec

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


class _Open:
    """An item whose start was seen. `indexes` are the places of its text parts among its texts."""

    __slots__ = ("indexes", "message", "thinking")

    def __init__(self) -> None:
        self.indexes: dict[int, int] = {}
        self.message = False
        self.thinking = False


class Previews:
    def __init__(self, session_id: str, kinds: frozenset[str], thread_of: str | None = None) -> None:
        self._session_id = session_id
        self._messages = "agent.message" in kinds
        self._thinking = "agent.thinking" in kinds
        self._subagent = thread_of
        self._open: dict[str, _Open] = {}

    def of(self, events: Sequence[StoredEvent]) -> bytes:
        """SSE frames, without ids: there is no going back to them."""
        return b"".join(b"event: message\ndata: %b\n\n" % _encode(preview) for preview in self._made(events))

    def _made(self, events: Sequence[StoredEvent]) -> Iterator[object]:
        for event in events:
            if event.type == _DELTA and self._open:
                yield from self._delta(_deltas.decode(event.body).data)
            elif event.type in (_STARTED, _COMPLETED):
                item = _items.decode(event.body).data.item
                if event.type == _COMPLETED:
                    self._open.pop(item.item_id, None)
                elif item.kind == "message" and item.role == "assistant" and item.subagent == self._subagent:
                    self._open[item.item_id] = _Open()

    def _delta(self, delta: ItemDelta) -> Iterator[object]:
        opened = self._open.get(delta.item_id)
        if opened is None:
            return
        if delta.kind == "reasoning" and self._thinking and not opened.thinking:
            opened.thinking = True
            yield self._start("agent.thinking", event_id(self._session_id, "thinking", delta.item_id))
        elif delta.kind == "text" and self._messages and delta.delta:
            message = event_id(self._session_id, "message", delta.item_id)
            if not opened.message:
                opened.message = True
                yield self._start("agent.message", message)
            index = opened.indexes.setdefault(delta.content_index, len(opened.indexes))
            content = {"type": "text", "text": delta.delta}
            yield {
                "type": "event_delta",
                "event_id": message,
                "delta": {"type": "content_delta", "index": index, "content": content},
            }

    def _start(self, kind: str, made: str) -> object:
        return {"type": "event_start", "event": {"type": kind, "id": made}}
