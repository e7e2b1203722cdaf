"""Previews of messages, which are decoded and encoded once for all streams."""

import msgspec
import pytest

from everyagent.log.chunk import EventChunk
from everyagent.log.log import StoredEvent
from everyagent.managed.sessions import previews
from everyagent.managed.sessions.previews import Previews
from everyagent.model.events import TYPE_NUMBERS, DeltaKind, Envelope, EventData, ItemCompleted, ItemDelta, ItemStarted
from everyagent.model.items import Item

BOTH = frozenset({"agent.message", "agent.thinking"})


def chunk(first: int, *data: EventData) -> EventChunk:
    return EventChunk(1, [stored(sequence, each) for sequence, each in enumerate(data, first)])


def stored(sequence: int, data: EventData) -> StoredEvent:
    envelope = Envelope(
        event_id=f"evt_{sequence}",
        sequence=sequence,
        time="2025-01-01T00:00:00Z",
        session_id="one",
        native_session_id=None,
        source="agent",
        synthetic=False,
        type=data.type,
        data=data,
    )
    return StoredEvent(sequence, TYPE_NUMBERS[data.type], msgspec.json.encode(envelope))


def message(item_id: str) -> Item:
    return Item(
        item_id=item_id,
        native_item_id=None,
        parent_id=None,
        kind="message",
        role="assistant",
        status="in_progress",
        content=[],
    )


def delta(text: str, index: int = 0, kind: DeltaKind = "text") -> ItemDelta:
    return ItemDelta(item_id="itm_1", native_item_id=None, delta=text, content_index=index, kind=kind)


def test_the_events_of_a_chunk_are_decoded_once_and_each_preview_is_encoded_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoded: list[EventChunk] = []
    decode = previews._decoded

    def counted(chunk: EventChunk) -> "list[previews._Change]":
        decoded.append(chunk)
        return decode(chunk)

    monkeypatch.setattr(previews, "_decoded", counted)
    started = chunk(1, ItemStarted(item=message("itm_1")), delta("a"), delta("b", 2))
    ended = chunk(4, delta("c", 2), delta("", 1), ItemCompleted(item=message("itm_1")), delta("late"))
    streams = [Previews("one", BOTH) for _ in range(3)]
    made = [[*stream.of(started), *stream.of(ended)] for stream in streams]
    assert decoded == [started, ended]
    kinds = [msgspec.json.decode(event.body) for event in made[0]]
    assert [kind["type"] for kind in kinds] == ["event_start", "event_delta", "event_delta", "event_delta"]
    assert [kind["delta"]["index"] for kind in kinds[1:]] == [0, 1, 1]
    assert all(event.sequence == 0 for event in made[0])
    for others in made[1:]:
        assert others == made[0]
        assert all(one is other for one, other in zip(made[0][1:], others[1:], strict=True))


def test_each_stream_gets_the_kinds_it_asked_for_and_only_of_items_whose_start_it_saw() -> None:
    started = chunk(1, ItemStarted(item=message("itm_1")), delta("why", kind="reasoning"), delta("a"))
    later = chunk(4, delta("b"))
    thinking, late = Previews("one", frozenset({"agent.thinking"})), Previews("one", BOTH)
    assert [msgspec.json.decode(event.body)["event"]["type"] for event in thinking.of(started)] == ["agent.thinking"]
    assert thinking.of(later) == late.of(later) == []
    assert Previews("one", BOTH, "itm_parent").of(started) == []
