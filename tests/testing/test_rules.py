"""Each rule lets a good session pass and catches the session that breaks it."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from everyagent.model.events import (
    Event,
    EventData,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    PermissionResolved,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
    ToolResolved,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.items import Item
from everyagent.model.parts import ReasoningPart, TextPart
from everyagent.testing.rules import Rules, check
from everyagent.testing.sample import sample_session, spoken, stamped

Break = Callable[[list[EventData]], Sequence[EventData]]


def good() -> list[EventData]:
    return [event.data for event in sample_session()]


def rules_broken(data: Sequence[EventData]) -> set[str]:
    return {violation.rule for violation in check(stamped(data))}


def index_of(data: Sequence[EventData], kind: type[EventData], item_id: str | None = None) -> int:
    for index, each in enumerate(data):
        match each:
            case ItemStarted(item=item) | ItemCompleted(item=item):
                found = item.item_id
            case ItemDelta(item_id=found):
                pass
            case _:
                found = None
        if isinstance(each, kind) and item_id in (None, found):
            return index
    raise LookupError(kind, item_id)


def without(kind: type[EventData], item_id: str | None = None) -> Break:
    def broken(data: list[EventData]) -> list[EventData]:
        at = index_of(data, kind, item_id)
        return data[:at] + data[at + 1 :]

    return broken


def twice(kind: type[EventData], item_id: str | None = None) -> Break:
    def broken(data: list[EventData]) -> list[EventData]:
        at = index_of(data, kind, item_id)
        return data[: at + 1] + data[at:]

    return broken


def moved_behind(kind: type[EventData], item_id: str | None, after: type[EventData]) -> Break:
    def broken(data: list[EventData]) -> list[EventData]:
        moved = data.pop(index_of(data, kind, item_id))
        at = index_of(data, after)
        return [*data[: at + 1], moved, *data[at + 1 :]]

    return broken


def changed(kind: type[EventData], item_id: str | None = None, /, **fields: object) -> Break:
    """The event with other fields; for items, the item with other fields."""

    def broken(data: list[EventData]) -> list[EventData]:
        at = index_of(data, kind, item_id)
        each = data[at]
        if isinstance(each, ItemStarted | ItemCompleted):
            data[at] = replace(each, item=replace(each.item, **fields))
        else:
            data[at] = replace(each, **fields)
        return data

    return broken


def user(item_id: str, *, native: str | None) -> list[EventData]:
    item = Item(
        item_id=item_id,
        native_item_id=native,
        parent_id=None,
        kind="message",
        role="user",
        status="completed",
        content=[TextPart(text="Fix the failing test.")],
        turn_id="turn_1",
    )
    return spoken(item)


def after_the_turn_started(*more: EventData) -> Break:
    def broken(data: list[EventData]) -> list[EventData]:
        at = index_of(data, TurnStarted)
        return [*data[: at + 1], *more, *data[at + 1 :]]

    return broken


def outlived(data: list[EventData]) -> list[EventData]:
    """The permission is answered after its turn, whose end names it."""
    moved = data.pop(index_of(data, PermissionResolved))
    assert isinstance(moved, PermissionResolved)
    at = index_of(data, TurnEnded)
    data[at] = replace(data[at], pending_asks=[moved.permission_id])
    return [*data[: at + 1], moved, *data[at + 1 :]]


def outlived_by_a_turn(data: list[EventData]) -> list[EventData]:
    data = outlived(data)
    at = index_of(data, PermissionResolved)
    turn = [TurnStarted(turn_id="turn_9", input_item_ids=[]), TurnEnded(turn_id="turn_9", stop_reason="end_turn")]
    return [*data[:at], *turn, *data[at:]]


def test_an_ask_may_outlive_its_turn_if_the_turn_names_it():
    assert rules_broken(outlived(good())) == set()


def test_a_good_session_breaks_no_rule():
    assert check(sample_session()) == []


BREAKS: list[tuple[str, str, Break]] = [
    ("a", "no session.started", without(SessionStarted)),
    ("a", "two session.started", twice(SessionStarted)),
    ("a", "an event after session.ended", lambda data: [*data, SessionUpdated(status="idle")]),
    ("b", "an item completed but never started", without(ItemStarted, "itm_answer")),
    ("b", "an item never completed", without(ItemCompleted, "itm_answer")),
    ("b", "an item started twice", twice(ItemStarted, "itm_answer")),
    ("b", "an item completed twice", twice(ItemCompleted, "itm_answer")),
    ("b", "a delta after the end", moved_behind(ItemDelta, "itm_answer", ToolResolved)),
    ("b", "a delta of another role", changed(ItemDelta, "itm_answer", role="user")),
    ("b", "an item open over the end of its turn", moved_behind(ItemCompleted, "itm_edit", TurnEnded)),
    ("b", "an item that starts as completed", changed(ItemStarted, "itm_user", status="completed")),
    ("b", "an item that ends in progress", changed(ItemCompleted, "itm_user", status="in_progress")),
    ("b", "an item with an error that did not fail", changed(ItemCompleted, "itm_edit", error="killed")),
    ("c", "a delta lost", without(ItemDelta, "itm_user")),
    ("c", "a delta repeated", twice(ItemDelta, "itm_user")),
    ("c", "another final text", changed(ItemCompleted, "itm_user", content=[TextPart(text="Else.")])),
    (
        "c",
        "another final reasoning",
        changed(
            ItemCompleted,
            "itm_answer",
            content=[
                ReasoningPart(text="No idea.", visibility="public"),
                TextPart(text="I will look at the parser."),
            ],
        ),
    ),
    ("d", "a result without its call", changed(ItemCompleted, "itm_bash", content=[])),
    ("d", "a call without a parent", changed(ItemStarted, "itm_bash", parent_id=None)),
    ("d", "a call whose parent is no message", changed(ItemCompleted, "itm_bash", parent_id="itm_task")),
    ("d", "a call in a message", changed(ItemCompleted, "itm_bash", kind="message")),
    ("e", "a turn that never ends", without(TurnEnded)),
    ("e", "a turn that never starts", without(TurnStarted)),
    ("e", "two turns open", twice(TurnStarted)),
    ("e", "a turn that ends twice", twice(TurnEnded)),
    ("e", "an end of another turn", changed(TurnEnded, turn_id="turn_2")),
    ("e", "an item of another turn", changed(ItemStarted, "itm_edit", turn_id="turn_2")),
    ("e", "an item of no turn inside one", changed(ItemCompleted, "itm_edit", turn_id=None)),
    ("f", "a request twice", twice(PermissionRequested)),
    ("f", "an answer twice", twice(PermissionResolved)),
    ("f", "an answer without a request", without(PermissionRequested)),
    ("f", "a request without an answer", without(PermissionResolved)),
    ("f", "an answer after the turn", moved_behind(PermissionResolved, None, TurnEnded)),
    ("f", "a request that is no request", changed(PermissionRequested, status="approved")),
    ("f", "an ask that outlives its turn and is closed", changed(TurnEnded, pending_asks=["perm_none"])),
    ("f", "a turn while asks wait for their answers", outlived_by_a_turn),
    ("f", "an answer that is none", changed(PermissionResolved, status="requested")),
    ("g", "an input that is no item", changed(TurnStarted, input_item_ids=["itm_user", "itm_other"])),
    ("g", "an input that is no user's", changed(TurnStarted, input_item_ids=["itm_answer"])),
    ("g", "an input taken twice", changed(TurnStarted, input_item_ids=["itm_user", "itm_user"])),
    ("g", "an echo and the daemon's own", after_the_turn_started(*user("itm_echo", native="msg_7"))),
    ("j", "a native session of the daemon's", after_the_turn_started(SessionUpdated(native_session_id="thread"))),
    ("h", "a delta before its item", without(ItemStarted, "itm_user")),
    ("h", "an item of a sub-agent nobody called", changed(ItemStarted, "itm_bash", subagent="itm_gone")),
]


@pytest.mark.parametrize(("rule", "how", "broken"), BREAKS, ids=[f"{rule}: {how}" for rule, how, _ in BREAKS])
def test_a_session_that_breaks_a_rule_is_caught(rule: str, how: str, broken: Break):
    assert rule in rules_broken(broken(good()))


def test_a_turn_the_agent_began_by_itself_is_good():
    assert rules_broken(changed(TurnStarted, input_item_ids=[])(good())) == set()


def test_a_message_steered_into_a_turn_is_good():
    assert rules_broken(after_the_turn_started(*user("itm_steered", native=None))(good())) == set()


def test_reasoning_that_was_not_streamed_is_caught():
    assert rules_broken(without(ItemDelta, "itm_thought")(good())) == {"c"}


def test_reasoning_beside_text_is_caught():
    reasoning = ReasoningPart(text="", visibility="private")

    def mixed(data: EventData) -> EventData:
        if not isinstance(data, ItemCompleted) or data.item.item_id != "itm_answer":
            return data
        return ItemCompleted(item=replace(data.item, content=[reasoning, *data.item.content]))

    assert rules_broken([mixed(data) for data in good()]) == {"c"}


def at(sequence: int, /, **fields: object) -> Callable[[list[Event]], list[Event]]:
    def broken(events: list[Event]) -> list[Event]:
        events[sequence - 1] = replace(events[sequence - 1], **fields)
        return events

    return broken


def lost_at(sequence: int) -> Callable[[list[Event]], list[Event]]:
    def broken(events: list[Event]) -> list[Event]:
        return events[: sequence - 1] + events[sequence:]

    return broken


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("sequence", lost_at(3)),
        ("sequence", at(5, sequence=6)),
        ("sequence", at(5, session_id="another")),
        ("event_id", at(5, event_id=f"evt_{4:026}")),
        ("time", at(5, time="2025-12-31T23:59:59Z")),
        ("time", at(5, time="yesterday")),
        ("time", at(5, time="2026-01-01T01:00:00+01:00")),
        ("synthetic", at(5, synthetic=True, source="agent")),
        ("synthetic", at(5, synthetic=False, source="daemon")),
        ("i", at(5, raw={"native": True})),
    ],
)
def test_a_wrong_envelope_is_caught(rule: str, broken: Callable[[list[Event]], list[Event]]):
    assert {violation.rule for violation in check(broken(sample_session()))} == {rule}


def test_times_of_different_precision_are_compared_as_times():
    first, second, *_ = sample_session()
    rules = Rules()
    rules.feed(replace(first, time="2026-01-01T00:00:00Z"))
    rules.feed(replace(second, time="2026-01-01T00:00:00.5Z"))
    assert rules.violations == []


def test_with_include_raw_no_event_may_lack_it():
    events = [replace(event, raw={"native": True}) for event in sample_session()]
    assert check(events, include_raw=True) == []
    missing = [*events[:3], replace(events[3], raw=None), *events[4:]]
    assert [(v.rule, v.sequence) for v in check(missing, include_raw=True)] == [("i", 4)]


def test_a_sent_event_must_have_the_key_raw():
    body = msgspec.json.encode(sample_session()[0])
    rules = Rules()
    rules.feed_body(body)
    assert rules.violations == []
    rules = Rules()
    rules.feed_body(body.replace(b',"raw":null}', b"}"))
    assert [violation.rule for violation in rules.violations] == ["i"]


def test_an_event_type_newer_than_this_code_breaks_nothing():
    rules = Rules()
    first, second, *_ = (msgspec.json.encode(event) for event in sample_session())
    rules.feed_body(first)
    rules.feed_body(second.replace(b"turn.started", b"turn.dreamt"))
    assert rules.violations == []


def test_an_open_turn_breaks_a_rule_only_when_the_session_is_finished():
    rules = Rules()
    for event in sample_session()[:-6]:
        rules.feed(event)
    assert rules.violations == []
    assert {violation.rule for violation in rules.finish()} == {"e"}


@given(cut=st.integers(0, 200))
def test_a_prefix_of_a_good_session_breaks_no_rule(cut: int):
    rules = Rules()
    for event in sample_session()[:cut]:
        rules.feed(event)
    assert rules.violations == []


STRUCTURAL = (ItemStarted, ItemCompleted, TurnStarted, TurnEnded, PermissionRequested, PermissionResolved)


@given(data=st.data())
def test_the_loss_of_any_structural_event_is_caught(data: st.DataObject):
    stream = good()
    lost = data.draw(st.sampled_from([i for i, each in enumerate(stream) if isinstance(each, STRUCTURAL)]))
    assert check(stamped(stream[:lost] + stream[lost + 1 :])) != []


@given(first=st.integers(0, 40), second=st.integers(0, 40))
def test_any_swap_of_two_events_is_caught(first: int, second: int):
    events = sample_session()
    events[first], events[second] = events[second], events[first]
    assert (check(events) == []) == (first == second)


@given(
    texts=st.lists(st.text(max_size=40), min_size=1, max_size=5),
    cuts=st.lists(st.integers(0, 40), max_size=6),
)
def test_any_text_cut_anywhere_into_deltas_is_good(texts: list[str], cuts: list[int]):
    data: list[EventData] = [SessionStarted()]
    for number, text in enumerate(texts):
        turn, item_id = f"turn_{number}", f"itm_{number}"
        [started, *_, completed] = user(item_id, native=None)
        assert isinstance(started, ItemStarted)
        assert isinstance(completed, ItemCompleted)
        places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
        pieces = [text[a:b] for a, b in pairwise(places)]
        data += [
            TurnStarted(turn_id=turn, input_item_ids=[item_id]),
            ItemStarted(item=replace(started.item, turn_id=turn)),
            *(
                ItemDelta(item_id=item_id, native_item_id=None, delta=piece, content_index=0, kind="text", role="user")
                for piece in pieces
            ),
            ItemCompleted(item=replace(completed.item, turn_id=turn, content=[TextPart(text=text)])),
            TurnEnded(turn_id=turn, stop_reason="end_turn"),
        ]
    data.append(SessionEnded(reason="completed", terminated_by="agent"))
    assert check(stamped(data)) == []
