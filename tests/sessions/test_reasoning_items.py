"""Reasoning is an item of its own, whatever an agent puts into one message."""

import pytest

from everyagent.model.events import DeltaKind, EventData, ItemCompleted, ItemDelta, ItemStarted
from everyagent.model.items import Item, reasoning_of, text_of
from everyagent.model.parts import ContentPart, ReasoningPart, TextPart, ToolCallPart
from everyagent.sessions.machine.sequencer import Sequencer

HIDDEN = ReasoningPart(text="", visibility="private")


def thought(text: str) -> ReasoningPart:
    return ReasoningPart(text=text, visibility="public")


def message(*content: ContentPart, error: str | None = None) -> Item:
    return Item(
        item_id="m",
        native_item_id="msg_1",
        parent_id=None,
        kind="message",
        role="assistant",
        status="failed" if error else "completed",
        content=[*content],
        error=error,
    )


def delta(kind: DeltaKind, text: str, index: int = 0) -> ItemDelta:
    return ItemDelta(item_id="m", native_item_id="msg_1", delta=text, content_index=index, kind=kind)


STARTED = ItemStarted(item=message())


def sequenced(*drafts: EventData) -> list[EventData]:
    sequencer = Sequencer()
    sequencer.start_turn([])
    return [emission.data for draft in drafts for emission in sequencer.apply(draft)]


def told(events: list[EventData]) -> list[str]:
    """Completed items, those of reasoning in brackets, in their order."""
    items = [event.item for event in events if isinstance(event, ItemCompleted)]
    return [f"({reasoning_of(item)})" if item.name == "reasoning" else text_of(item) for item in items]


@pytest.mark.parametrize(
    ("drafts", "expected"),
    [
        ([ItemCompleted(item=message(thought("a"), TextPart(text="b")))], ["(a)", "b"]),
        ([STARTED, ItemCompleted(item=message(thought("a"), TextPart(text="b"), thought("c")))], ["(a)", "b", "(c)"]),
        ([ItemCompleted(item=message(thought("a")))], ["(a)"]),
        ([STARTED, ItemCompleted(item=message())], [""]),
        (
            [
                STARTED,
                delta("reasoning", "a"),
                delta("text", "b", 1),
                ItemCompleted(item=message(thought("a"), TextPart(text="b"))),
            ],
            ["(a)", "b"],
        ),
        (
            [
                delta("text", "a"),
                delta("reasoning", "b", 1),
                delta("text", "c", 2),
                ItemCompleted(item=message(TextPart(text="a"), thought("b"), TextPart(text="c"))),
            ],
            ["a", "(b)", "c"],
        ),
        ([STARTED, delta("text", "b", 1), ItemCompleted(item=message(HIDDEN, TextPart(text="b")))], ["()", "b"]),
        ([STARTED, delta("reasoning", "a"), ItemCompleted(item=message(TextPart(text="b")))], ["(a)", "b"]),
        (
            [STARTED, delta("reasoning", "a"), delta("text", "b", 1), ItemCompleted(item=message(thought("a")))],
            ["(a)", "b"],
        ),
    ],
    ids=["whole", "started", "only", "empty", "streamed", "between", "redacted", "left out", "text left out"],
)
def test_reasoning_and_text_are_items_of_their_own(drafts: list[EventData], expected: list[str]) -> None:
    events = sequenced(*drafts)
    assert told(events) == expected
    deltas = [event.delta for event in events if isinstance(event, ItemDelta)]
    assert "".join(deltas) == "".join(expected).replace("(", "").replace(")", "")


def test_a_failure_is_the_last_items() -> None:
    failed = message(thought("a"), error="The stream was cut.")
    events = sequenced(STARTED, delta("reasoning", "a"), delta("text", "b", 1), ItemCompleted(item=failed))
    assert told(events) == ["(a)", "b"]
    items = [event.item for event in events if isinstance(event, ItemCompleted)]
    assert [(item.status, item.error) for item in items] == [("completed", None), ("failed", "The stream was cut.")]


def test_calls_belong_to_the_latest_item_of_their_message() -> None:
    call = Item(
        item_id="c",
        native_item_id="c",
        parent_id="m",
        kind="tool_call",
        role="assistant",
        status="completed",
        content=[ToolCallPart(name="bash", arguments="{}", call_id="c")],
    )
    events = sequenced(STARTED, delta("reasoning", "a"), delta("text", "b", 1), ItemCompleted(item=call))
    started = [event.item for event in events if isinstance(event, ItemStarted)]
    assert started[-1].parent_id == started[-2].item_id != started[0].item_id
