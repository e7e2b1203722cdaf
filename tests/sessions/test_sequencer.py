"""The sequencer keeps the order rules, whatever an adapter drafts."""

from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from everyagent.agents.adapter import DecodedFrame, Frame
from everyagent.clock import SystemClock
from everyagent.log.log import SessionRecord
from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import (
    Error,
    EventData,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    SessionStarted,
    TurnEnded,
    TurnStarted,
    Unparsed,
)
from everyagent.model.items import Item
from everyagent.model.parts import ContentPart, ReasoningPart, StatusPart, TextPart, ToolCallPart, ToolResultPart
from everyagent.remote.item_ids import DerivedIds
from everyagent.runner.scoped_keys import ScopedKeys
from everyagent.sessions.machine.sequencer import Emission, Emissions, Sequencer
from everyagent.sessions.machine.transaction import LogPosition, Transaction
from everyagent.testing.rules import Rules

KEYS = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.text(max_size=8)


def user(item_id: str) -> Item:
    return Item(
        item_id=item_id,
        native_item_id=None,
        parent_id=None,
        kind="message",
        role="user",
        status="completed",
        content=[TextPart(text="hello")],
    )


def message(key: str, text: str) -> Item:
    """An assistant's message under the agent's own key."""
    return Item(
        item_id=key,
        native_item_id=key,
        parent_id=None,
        kind="message",
        role="assistant",
        status="completed",
        content=[TextPart(text=text)],
    )


def tool_item(kind: str, key: str, call_id: str, subagent: str | None = None) -> Item:
    part = (
        ToolCallPart(name="bash", arguments="{}", call_id=call_id)
        if kind == "tool_call"
        else ToolResultPart(call_id=call_id, output="done")
    )
    return Item(
        item_id=key,
        native_item_id=key,
        parent_id=None,
        kind=kind,  # pyright: ignore[reportArgumentType]
        role="assistant" if kind == "tool_call" else "tool",
        status="completed",
        content=[part],
        subagent=subagent,
    )


@st.composite
def items(draw: st.DrawFn) -> Item:
    kind = draw(st.sampled_from(["message", "tool_call", "tool_result", "status", "system"]))
    content: list[ContentPart]
    match kind:
        case "tool_call":
            content = [ToolCallPart(name="bash", arguments=draw(TEXTS), call_id=draw(KEYS))]
        case "tool_result":
            content = [ToolResultPart(call_id=draw(KEYS), output=draw(TEXTS))]
        case "status":
            content = [StatusPart(label="busy")]
        case _:
            content = [*draw(st.lists(st.builds(TextPart, text=TEXTS), max_size=2))]
            content += draw(st.lists(st.builds(ReasoningPart, text=TEXTS, visibility=st.just("public")), max_size=1))
    return Item(
        item_id=f"{kind} {draw(KEYS)}",
        native_item_id=draw(st.none() | KEYS),
        parent_id=draw(st.none() | KEYS.map(lambda key: f"message {key}")),
        kind=kind,  # pyright: ignore[reportArgumentType]
        role=draw(st.sampled_from(["assistant", None, "tool"])) if kind != "message" else "assistant",
        status=draw(st.sampled_from(["in_progress", "completed", "failed"])),
        content=content,
        subagent=draw(st.none() | KEYS.map(lambda key: f"tool_call {key}")),
    )


@st.composite
def deltas(draw: st.DrawFn) -> ItemDelta:
    kind = draw(st.sampled_from(["text", "reasoning", "tool_input", "tool_output"]))
    owner = {"tool_input": "tool_call", "tool_output": "tool_result"}.get(kind, "message")
    return ItemDelta(
        item_id=f"{owner} {draw(KEYS)}",
        native_item_id=None,
        delta=draw(TEXTS),
        content_index=draw(st.integers(0, 1)),
        kind=kind,  # pyright: ignore[reportArgumentType]
    )


DRAFTS: st.SearchStrategy[EventData] = st.one_of(
    items().map(lambda item: ItemStarted(item=item)),
    items().map(lambda item: ItemCompleted(item=item)),
    deltas(),
    KEYS.map(lambda key: PermissionRequested(permission_id=key, action="bash", status="requested")),
    KEYS.map(lambda key: PermissionResolved(permission_id=key, action="bash", status="denied", reply="reject")),
    KEYS.map(lambda key: QuestionRequested(question_id=key, prompt="?", options=[], status="requested")),
    st.just(TurnStarted(turn_id="", input_item_ids=[])),
    st.just(TurnEnded(turn_id="", stop_reason="end_turn")),
    st.just(SessionStarted()),
    st.just(Error(message="oh")),
    st.just(Unparsed(error="what?", location="test")),
)


class Recorded:
    """The events of a session, encoded as its transactions encode them."""

    def __init__(self) -> None:
        record = SessionRecord(
            number=1, session_id="s", agent="test", created_at=0, updated_at=0, config=b"{}", secrets=None
        )
        self._position = LogPosition(record)
        self.bodies: list[bytes] = []
        self.emit([Emission(SessionStarted(), True)])

    def emit(self, emissions: Emissions) -> None:
        transaction = Transaction(self._position, SystemClock().micros())
        transaction.begin_frame("from_agent", b"{}")
        transaction.emit(emissions)
        self.bodies += [event.body for event in transaction.finish().events]

    def violations(self) -> list[str]:
        rules = Rules()
        for body in self.bodies:
            rules.feed_body(body)
        return [str(violation) for violation in rules.finish()]


def observed(bodies: list[bytes], *, derived: bool = False) -> Sequencer:
    """A sequencer rebuilt from events of the log."""
    sequencer = Sequencer(derived=derived)
    for body in bodies:
        data = decode_event(body).data
        assert not isinstance(data, UnknownData)
        sequencer.observe(data)
    return sequencer


@settings(max_examples=400)
@given(st.lists(st.lists(DRAFTS, max_size=12), min_size=1, max_size=4))
def test_any_drafts_in_any_order_become_a_stream_that_keeps_the_rules(turns: list[list[EventData]]) -> None:
    sequencer, recorded = Sequencer(), Recorded()
    for number, drafts in enumerate(turns):
        recorded.emit(sequencer.start_turn([user(f"itm_user{number}")]))
        for draft in drafts:
            recorded.emit(sequencer.apply(draft))
            if not sequencer.turn_id:
                break
        recorded.emit(sequencer.end_turn("end_turn", "cut"))
    assert recorded.violations() == []


@settings(max_examples=400)
@given(st.lists(st.lists(DRAFTS, max_size=12), min_size=1, max_size=4), st.integers(0, 12))
def test_any_drafts_of_a_runner_keep_the_rules_over_a_restart_of_the_daemon(
    turns: list[list[EventData]], restart: int
) -> None:
    sequencer, recorded = Sequencer(derived=True), Recorded()
    runner, daemon = ScopedKeys("s", 1), DerivedIds("s", 1)
    for number, drafts in enumerate(turns):
        turn = len(recorded.bodies)
        recorded.emit(sequencer.start_turn([user(f"itm_user{number}")]))
        runner.begin_turn()
        for place, draft in enumerate([*drafts, TurnEnded(turn_id="", stop_reason="end_turn")]):
            if place == restart:
                sequencer = observed(recorded.bodies[turn:], derived=True)
                sequencer.resume()
            (scoped,) = runner.applied_to([DecodedFrame(Frame("from_agent", b"{}"), [draft])])
            (derived,) = daemon.applied_to([scoped])
            for each in derived.drafts:
                recorded.emit(sequencer.apply(cast("EventData", each)))
            if not sequencer.turn_id:
                break
    assert recorded.violations() == []


def test_text_that_was_not_streamed_becomes_one_delta_before_item_completed() -> None:
    sequencer = Sequencer()
    sequencer.start_turn([user("itm_u")])
    sequencer.apply(ItemDelta(item_id="m", native_item_id="m", delta="Hel", content_index=0, kind="text"))
    emissions = sequencer.apply(ItemCompleted(item=message("m", "Hello")))
    assert [type(each.data) for each in emissions] == [ItemDelta, ItemCompleted]
    assert emissions[0].synthetic
    assert isinstance(emissions[0].data, ItemDelta)
    assert emissions[0].data.delta == "lo"


def test_a_delta_before_its_message_makes_a_stub() -> None:
    sequencer = Sequencer()
    sequencer.start_turn([user("itm_u")])
    emissions = sequencer.apply(ItemDelta(item_id="m", native_item_id="m", delta="x", content_index=0, kind="text"))
    assert [(type(each.data), each.synthetic) for each in emissions] == [(ItemStarted, True), (ItemDelta, False)]


def test_a_sequencer_rebuilt_from_the_log_closes_open_items() -> None:
    sequencer, recorded = Sequencer(), Recorded()
    recorded.emit(sequencer.start_turn([user("itm_u")]))
    recorded.emit(
        sequencer.apply(ItemDelta(item_id="m", native_item_id="m", delta="half", content_index=0, kind="text"))
    )
    recorded.emit(sequencer.apply(PermissionRequested(permission_id="p", action="bash", status="requested")))
    again = observed(recorded.bodies)
    recorded.emit(again.end_turn("error", "The daemon was restarted."))
    assert recorded.violations() == []


def completed(emissions: Emissions) -> list[Item]:
    return [each.data.item for each in emissions if isinstance(each.data, ItemCompleted)]


def test_an_item_whose_native_id_was_used_in_an_earlier_turn_is_a_new_item() -> None:
    """Some models' APIs number their messages from 1 in every turn."""
    sequencer, recorded = Sequencer(), Recorded()
    ids: list[str] = []
    for number, text in enumerate(("first", "second", "third")):
        recorded.emit(sequencer.start_turn([user(f"itm_user{number}")]))
        started = sequencer.apply(ItemStarted(item=message("1", text)))
        delta = sequencer.apply(ItemDelta(item_id="1", native_item_id="1", delta=text, content_index=0, kind="text"))
        whole = sequencer.apply(ItemCompleted(item=message("1", text)))
        again = sequencer.apply(ItemCompleted(item=message("1", text)))
        assert completed(again) == [], "within a turn it is the same item"
        (item,) = completed(whole)
        assert item.content == [TextPart(text=text)]
        ids.append(item.item_id)
        for emissions in (started, delta, whole):
            recorded.emit(emissions)
        recorded.emit(sequencer.apply(TurnEnded(turn_id="", stop_reason="end_turn")))
        late = ItemDelta(item_id="1", native_item_id="1", delta="late", content_index=0, kind="text")
        assert not sequencer.apply(late), "a late delta of an ended turn starts nothing"
    assert len(set(ids)) == 3
    assert recorded.violations() == []


def test_a_result_finds_the_call_of_an_earlier_turn_and_so_does_a_sub_agent() -> None:
    sequencer, recorded = Sequencer(), Recorded()
    recorded.emit(sequencer.start_turn([user("itm_user1")]))
    recorded.emit(asked := sequencer.apply(ItemCompleted(item=message("1", "I start it"))))
    recorded.emit(called := sequencer.apply(ItemCompleted(item=tool_item("tool_call", "2", "call"))))
    recorded.emit(sequencer.end_turn("end_turn", ""))
    recorded.emit(sequencer.start_turn([user("itm_user2")]))
    inside = sequencer.apply(ItemCompleted(item=tool_item("tool_call", "3", "inner", subagent="2")))
    result = sequencer.apply(ItemCompleted(item=tool_item("tool_result", "4", "call")))
    for emissions in (inside, result):
        recorded.emit(emissions)
    (call,) = completed(called)
    assert [item.parent_id for item in completed(result)] == [completed(asked)[0].item_id]
    assert [item.subagent for item in completed(inside)] == [call.item_id]
    assert sequencer.key_of(call.item_id) == "2"
    recorded.emit(sequencer.end_turn("end_turn", ""))
    assert recorded.violations() == []
