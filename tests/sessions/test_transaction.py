"""A delta that is added the quick way is stored as any other event of a frame."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from everyagent.agents.adapter import Frame
from everyagent.log.log import Append, SessionRecord
from everyagent.model.decoding import decode_event
from everyagent.model.events import ItemDelta
from everyagent.sessions.machine.sequencer import Emission
from everyagent.sessions.machine.transaction import LogPosition, Transaction

NOW = 1_763_440_000_000_000
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
DELTAS = st.builds(
    ItemDelta,
    item_id=TEXT,
    native_item_id=st.none() | TEXT,
    delta=TEXT,
    content_index=st.integers(0, 9),
    kind=st.sampled_from(["text", "reasoning", "tool_input", "tool_output"]),
)


def begun(session_id: str, native: str | None) -> Transaction:
    record = SessionRecord(
        number=1, session_id=session_id, agent="a", created_at=0, updated_at=0, config=b"{}", secrets=None
    )
    transaction = Transaction(LogPosition(record), NOW)
    transaction.begin_frame("daemon", b"{}")  # left open, as the one before a quick delta may be
    transaction.set_native_session(native)
    return transaction


def without_ids(append: Append) -> list[object]:
    events = [msgspec.json.decode(event.body) for event in append.events]
    ids = [event.pop("event_id") for event in events]
    assert ids == sorted({*ids})
    return [*events, *append.frames, *[(event.sequence, event.type, event.frame) for event in append.events]]


@given(TEXT, st.none() | TEXT, st.lists(DELTAS, min_size=1, max_size=4), TEXT)
def test_a_quick_delta_is_the_same_event_with_the_same_frame(
    session_id: str, native: str | None, deltas: list[ItemDelta], later: str
) -> None:
    quick, slow = begun(session_id, native), begun(session_id, native)
    assert quick.quick
    for number, delta in enumerate(deltas):
        frame = Frame("from_agent", b"%d" % number)
        quick.add_delta(frame, delta)
        slow.begin_frame(frame.direction, frame.body, frame.form)
        slow.emit([Emission(delta, False)])
        for transaction in (quick, slow):
            transaction.set_native_session(later)
    made, usual = quick.finish(), slow.finish()
    assert without_ids(made) == without_ids(usual)
    assert [len(event.body) for event in made.events] == [len(event.body) for event in usual.events]
    assert [decode_event(event.body).data for event in made.events] == deltas
