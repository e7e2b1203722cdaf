"""Turns of the real program, over the HTTP API."""

from opencode_stage import OpencodeSession
from tests.scripted.chat_replies import run, say, think

from everyagent.model.events import ItemCompleted, ItemDelta, TurnEnded
from everyagent.model.items import text_of
from everyagent.model.parts import ReasoningPart, TextPart


def test_text_is_streamed_and_whole(session: OpencodeSession) -> None:
    session.model.script.add(say("Hello, this is streamed."))
    ended = session.create().turn("Hi")
    assert ended.stop_reason == "end_turn"
    assert session.replies() == ["Hello, this is streamed."]
    assert len([delta for delta in session.all(ItemDelta) if delta.kind == "text"]) > 2
    assert ended.usage
    assert (ended.usage.input_tokens, ended.usage.output_tokens) == (100, 30)
    assert ended.cost_usd


def test_a_second_turn_remembers_the_first(session: OpencodeSession) -> None:
    session.model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    session.turn("Which number?")
    assert session.replies() == ["Noted.", "It was seven."]
    assert "Remember seven" in session.model.requests[-1].everything


def test_reasoning_comes_before_the_text_it_leads_to(session: OpencodeSession) -> None:
    session.model.script.add(think("Let me think about it.", "Done thinking."))
    session.create().turn("Think")
    thought, answer = [item for item in session.items("message") if item.role == "assistant"]
    assert thought.content == [ReasoningPart(text="Let me think about it.", visibility="public")]
    assert answer.content == [TextPart(text="Done thinking.")]
    kinds = [delta.kind for delta in session.all(ItemDelta) if delta.native_item_id]
    assert kinds == sorted(kinds)
    assert set(kinds) == {"reasoning", "text"}


def test_text_around_a_call_is_in_the_models_order(session: OpencodeSession) -> None:
    """OpenCode continues the same part after the call."""
    reply = run("echo in between", text="I begin.")
    reply.deltas += say("I go on.").deltas
    session.model.script.add(reply, say("Done."))
    session.create(permissionMode="bypass").turn("Run it")
    told = [done.item for done in session.all(ItemCompleted) if done.item.role == "assistant"]
    assert [text_of(item) or item.name for item in told] == ["I begin.", "bash", "I go on.", "Done."]
    assert told[1].parent_id == told[0].item_id


def test_a_command_runs_and_its_output_is_streamed(session: OpencodeSession) -> None:
    session.model.script.add(run("echo first; echo second"), say("Ran."))
    session.create(permissionMode="bypass").turn("Run it")
    (call,) = session.items("tool_call")
    (result,) = session.items("tool_result")
    assert call.name == "bash"
    assert "second" in str(result.content[0])
    assert len(session.all(TurnEnded)) == 1
