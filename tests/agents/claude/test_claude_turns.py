"""Text, reasoning, tools, files, usage and cost of turns with the real Claude Code."""

from claude_stage import ClaudeSession
from msgspec.structs import replace
from tests.scripted.messages_replies import call, calls, say, text_block, think

from everyagent.model.events import ItemCompleted, ItemDelta, Unparsed
from everyagent.model.items import text_of
from everyagent.model.parts import FileRefPart, ReasoningPart, ToolCallPart, ToolResultPart


def test_a_prompt_is_answered_in_native_deltas(session: ClaudeSession) -> None:
    session.model.script.add(say("Good morning, Oslo."))
    ended = session.create().turn("Greet the city")
    assert ended.stop_reason == "end_turn"
    assert session.replies() == ["Good morning, Oslo."]
    assert len([delta for delta in session.all(ItemDelta) if delta.native_item_id]) > 1


def test_usage_and_cost_are_reported_per_turn(session: ClaudeSession) -> None:
    session.model.script.add(say("One."), say("Two."))
    first, second = session.create().turn("one"), session.turn("two")
    assert first.usage == second.usage
    assert first.usage
    assert first.usage.output_tokens == 10
    assert first.cost_usd
    assert first.cost_usd == second.cost_usd


def test_a_second_turn_remembers_the_first(session: ClaudeSession) -> None:
    session.model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    session.turn("Which number?")
    assert session.replies() == ["Noted.", "It was seven."]
    assert "Remember seven" in str(session.model.requests[-1].messages)


def test_replies_with_repeated_message_ids_are_kept(session: ClaudeSession) -> None:
    """Some gateways number their messages from 1 for every request."""
    for words in ("One.", "Two.", "Three."):
        session.model.script.add(replace(say(words), id="msg_1"))
    session.create().turn("one")
    session.turn("two")
    session.turn("three")
    assert session.replies() == ["One.", "Two.", "Three."]
    assert session.all(Unparsed) == []


def test_thinking_is_an_item_of_reasoning_with_deltas(session: ClaudeSession) -> None:
    session.model.script.add(think("Which is larger, I wonder.", "The first."))
    session.create().turn("Compare")
    thought, answer = [item for item in session.items("message") if item.role == "assistant"]
    assert thought.content == [ReasoningPart(text="Which is larger, I wonder.", visibility="public")]
    assert text_of(answer) == "The first."
    deltas = [delta for delta in session.all(ItemDelta) if delta.kind == "reasoning"]
    assert "".join(delta.delta for delta in deltas) == "Which is larger, I wonder."


def test_parallel_tool_calls_belong_to_the_message_that_made_them(session: ClaudeSession) -> None:
    (session.workspace / "a.txt").write_text("alpha\n")
    (session.workspace / "b.txt").write_text("beta\n")
    paths = [str(session.workspace / name) for name in ("a.txt", "b.txt")]
    session.model.script.add(
        calls(*[("Read", {"file_path": path}) for path in paths], text="I read both."), say("Alpha and beta.")
    )
    session.create().turn("Read them")
    tools, results = session.items("tool_call"), session.items("tool_result")
    (asker,) = [item for item in session.items("message") if item.native_item_id and item.content][:1]
    assert {item.parent_id for item in tools + results} == {asker.item_id}
    files = [part.path for item in results for part in item.content if isinstance(part, FileRefPart)]
    assert sorted(files) == paths  # whichever was done first


def test_text_around_a_call_is_in_the_models_order(session: ClaudeSession) -> None:
    reply = calls(("Bash", {"command": "echo in between", "description": "speak"}), text="I begin.")
    reply.blocks.append(text_block("I go on."))
    session.model.script.add(reply, say("Done."))
    session.create(permissionMode="bypass").turn("Run it")
    told = [done.item for done in session.all(ItemCompleted) if done.item.role == "assistant"]
    assert [text_of(item) or item.name for item in told] == ["I begin.", "Bash", "I go on.", "Done."]
    assert told[1].parent_id == told[0].item_id


def test_a_command_result_has_its_output_and_exit_code(session: ClaudeSession) -> None:
    session.model.script.add(call("Bash", {"command": "echo hello; exit 4", "description": "greet"}), say("It failed."))
    session.create(permissionMode="bypass").turn("Run it")
    (result,) = session.items("tool_result")
    (part,) = [part for part in result.content if isinstance(part, ToolResultPart)]
    assert part.exit_code == 4
    assert part.is_error
    assert "hello" in part.output
    assert result.status == "failed"


def test_tool_input_is_streamed(session: ClaudeSession) -> None:
    session.model.script.add(call("Bash", {"command": "true", "description": "nothing"}), say("Done."))
    session.create(permissionMode="bypass").turn("Run it")
    (tool,) = session.items("tool_call")
    (part,) = [part for part in tool.content if isinstance(part, ToolCallPart)]
    assert '"command":"true"' in part.arguments.replace(" ", "")
    assert [delta for delta in session.all(ItemDelta) if delta.kind == "tool_input"]


def test_writes_and_edits_are_file_refs_with_unified_diffs(session: ClaudeSession) -> None:
    path = str(session.workspace / "poem.txt")
    session.model.script.add(
        call("Write", {"file_path": path, "content": "roses\nviolets\n"}),
        call("Edit", {"file_path": path, "old_string": "roses", "new_string": "tulips"}),
        say("Written."),
    )
    session.create(permissionMode="acceptEdits").turn("Write a poem")
    written, edited = [
        part for item in session.items("tool_result") for part in item.content if isinstance(part, FileRefPart)
    ]
    assert (written.action, edited.action) == ("write", "patch")
    assert written.diff == f"--- /dev/null\n+++ b{path}\n@@ -0,0 +1,2 @@\n+roses\n+violets\n"
    assert edited.diff
    assert "-roses\n+tulips\n" in edited.diff
    assert (session.workspace / "poem.txt").read_text() == "tulips\nviolets\n"
