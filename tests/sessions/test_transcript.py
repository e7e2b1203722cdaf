"""Transcripts of sessions, and the seeds made from them."""

from hypothesis import given
from hypothesis import strategies as st

from everyagent.model.events import EventData, ItemCompleted, ItemStarted, SessionStarted, TurnEnded
from everyagent.model.items import Item
from everyagent.model.parts import TextPart, ToolCallPart, ToolResultPart
from everyagent.sessions.history.transcript import TRANSCRIBED, as_seed, transcript
from everyagent.sessions.history.transcript.entries import Called, Failed, MessageEntry, Noted, Returned
from everyagent.testing.sample import sample_session, stamped


def message(text: str, *, subagent: str | None = None, error: str | None = None) -> ItemCompleted:
    return ItemCompleted(
        item=Item(
            item_id=f"itm_{text[:8]}",
            native_item_id=None,
            parent_id=None,
            kind="message",
            role="user",
            status="failed" if error else "completed",
            content=[TextPart(text=text)],
            subagent=subagent,
            error=error,
        )
    )


def tool(part: ToolCallPart | ToolResultPart, item_id: str, subagent: str | None = None) -> ItemCompleted:
    return ItemCompleted(
        item=Item(
            item_id=item_id,
            native_item_id=None,
            parent_id="itm_1",
            kind="tool_call" if isinstance(part, ToolCallPart) else "tool_result",
            role="tool",
            status="completed",
            content=[part],
            subagent=subagent,
        )
    )


def seed(*data: EventData, limit_chars: int = 24_000) -> str:
    return as_seed(transcript(stamped(data)), limit_chars)


def test_a_result_has_the_name_of_its_call():
    call = ToolCallPart(name="bash", arguments="{}", call_id="c")
    result = ToolResultPart(call_id="c", output="ok", exit_code=0)
    called, returned = transcript(stamped([tool(call, "itm_2"), tool(result, "itm_3")]))
    assert isinstance(called, Called)
    assert isinstance(returned, Returned)
    assert (called.tool, returned.tool, returned.is_error, returned.exit_code) == ("bash", "bash", False, 0)


def test_entries_are_in_the_order_in_which_things_began():
    """An agent's echo may complete a user's message late, and a call may be complete after what it caused."""
    question, answer = message("question"), message("answer")
    events = [
        ItemStarted(item=question.item),
        ItemStarted(item=answer.item),
        answer,
        TurnEnded(turn_id="t", stop_reason="refusal"),
    ]
    said = list(transcript(stamped([*events, question])))
    assert [entry.text for entry in said if isinstance(entry, MessageEntry)] == ["question", "answer"]
    assert isinstance(said[-1], Noted)


def test_depth_counts_the_sub_agents_above():
    task = ToolCallPart(name="task", arguments="{}", call_id="c")
    entries = transcript(
        stamped([tool(task, "itm_a"), tool(task, "itm_b", "itm_a"), message("deep", subagent="itm_b"), message("top")])
    )
    assert [entry.depth for entry in entries] == [0, 1, 2, 0]


def test_an_interrupted_item_has_its_partial_text_and_the_reason():
    said, failed = transcript(stamped([message("half a sen", error="The turn was cancelled.")]))
    assert isinstance(said, MessageEntry)
    assert isinstance(failed, Failed)
    assert (said.text, failed.message) == ("half a sen", "The turn was cancelled.")


def test_a_turn_that_ended_normally_adds_no_line():
    assert list(transcript(stamped([TurnEnded(turn_id="t", stop_reason="end_turn")]))) == []
    [cut] = transcript(stamped([TurnEnded(turn_id="t", stop_reason="interrupted", error="by you")]))
    assert isinstance(cut, Noted)
    assert (cut.label, cut.detail) == ("Turn ended: interrupted", "by you")


def test_event_types_that_are_not_transcribed_add_nothing():
    needed = [event for event in sample_session() if event.type in TRANSCRIBED]
    assert list(transcript(needed)) == list(transcript(sample_session()))
    assert "item.delta" not in TRANSCRIBED


def test_a_seed_has_the_conversation_in_order():
    text = as_seed(transcript(sample_session()))
    places = [text.index(part) for part in ("Fix the failing test.", "[called task]", "[task returned]", "rain")]
    assert places == sorted(places)


def test_a_seed_leaves_out_reasoning_and_the_work_of_sub_agents_and_says_so():
    text = as_seed(transcript(sample_session()))
    assert "drops the last line" not in text
    assert "make test" not in text
    assert "Reasoning and the inner work of sub-agents are left out." in text


def test_a_session_without_messages_has_no_seed():
    assert seed(SessionStarted()) == ""


def test_a_long_seed_keeps_the_newest_and_counts_what_it_left_out():
    text = seed(*(message(f"message {n} " + "x" * 90) for n in range(100)), limit_chars=2000)
    assert "message 99 " in text
    assert "message 0 " not in text
    dropped = 100 - text.count("User: message")
    assert f"The {dropped} oldest entries are left out" in text


def test_a_long_tool_output_keeps_its_beginning_and_its_end():
    output = "first " + "x" * 50_000 + " last"
    text = seed(tool(ToolResultPart(call_id="c", output=output), "itm_2"))
    assert "first" in text
    assert text.endswith("last")
    assert len(text) < 2000
    assert f"{len(output)} characters, shortened" in text


@given(st.lists(st.text(max_size=3000), max_size=12), st.integers(400, 5000))
def test_a_seed_is_never_longer_than_its_limit(texts: list[str], limit: int):
    assert len(seed(*map(message, texts), limit_chars=limit)) <= limit
