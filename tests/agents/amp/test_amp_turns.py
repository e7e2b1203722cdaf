"""Text, reasoning, tools, files, images, MCP, custom tools and steering of turns with the real Amp."""

import base64
import sys
from pathlib import Path

from amp_stage import AmpSession
from tests.scripted.amp_replies import Reply, call, calls, say, think

from everyagent.agents.mock.program.png import gradient
from everyagent.model.events import Error, ItemDelta, ToolRequested, TurnEnded, TurnStarted
from everyagent.model.items import reasoning_of, text_of
from everyagent.model.parts import ImagePart, ToolCallPart

PNG = gradient(16)
WAIT = {"command": "python3 -c 'import time; time.sleep(3)'"}


def test_a_prompt_is_answered_in_one_delta(session: AmpSession) -> None:
    session.model.script.add(say("Hello from Amp."))
    ended = session.create().turn("Hello")
    assert ended.stop_reason == "end_turn"
    assert ended.usage
    assert (ended.usage.input_tokens, ended.usage.output_tokens) == (100, 10)
    assert session.replies() == ["Hello from Amp."]
    assert [delta.delta for delta in session.all(ItemDelta)] == ["Hello", "Hello from Amp."]
    assert str(session.info()["nativeSessionId"]).startswith("T-")


def test_turns_share_one_process_and_one_thread(session: AmpSession) -> None:
    session.model.script.add(say("One."), say("Two."), say("Three."))
    session.create().turn("first")
    pids = session.agents()
    for words in ("second", "third"):
        assert session.turn(words).stop_reason == "end_turn"
    assert session.replies() == ["One.", "Two.", "Three."]
    assert session.agents() == pids
    assert len(session.model.threads) == 1
    assert len([item for item in session.items("message") if item.role == "user"]) == 3


def test_reasoning_precedes_the_text(session: AmpSession) -> None:
    session.model.script.add(think("Let me see.", "I see."))
    session.create().turn("Think")
    thought, answer = [item for item in session.items("message") if item.role == "assistant"]
    assert (reasoning_of(thought), text_of(answer)) == ("Let me see.", "I see.")


def test_a_command_result_has_its_output_and_exit_code(session: AmpSession) -> None:
    session.model.script.add(call("shell_command", {"command": "echo out; exit 3"}, text="Looking."), say("Three."))
    session.create(permissionMode="bypass").turn("Run it")
    (item,) = session.items("tool_call")
    (part,) = item.content
    assert isinstance(part, ToolCallPart)
    assert part.name == "shell_command"
    (result,) = session.items("tool_result")
    assert session.outputs() == ["out\n"]
    assert [part.exit_code for part in result.content] == [3]  # pyright: ignore[reportAttributeAccessIssue]
    said = [item for item in session.items("message") if item.role == "assistant"]
    assert item.parent_id == result.parent_id == said[0].item_id


def test_parallel_tool_calls_belong_to_the_message_that_made_them(session: AmpSession) -> None:
    commands = [{"command": f"echo {word}"} for word in ("a", "b", "c")]
    session.model.script.add(calls(*[("shell_command", each) for each in commands], text="All."), say("Done."))
    session.create(permissionMode="bypass").turn("Run them")
    parents = {item.parent_id for kind in ("tool_call", "tool_result") for item in session.items(kind)}
    assert len(parents) == 1
    assert session.outputs() == ["a\n", "b\n", "c\n"]


def test_file_changes_have_unified_diffs(session: AmpSession) -> None:
    home = session.workspace
    (home / "old.txt").write_text("before\n")
    (home / "gone.txt").write_text("x\n")
    (home / "moved.txt").write_text("one\n")
    patch = (
        "*** Begin Patch\n*** Add File: added.txt\n+hello\n*** Delete File: gone.txt\n"
        "*** Update File: moved.txt\n*** Move to: there.txt\n@@\n-one\n+uno\n*** End Patch\n"
    )
    session.model.script.add(
        call("create_file", {"path": str(home / "new.txt"), "content": "a\nb"}),
        call("create_file", {"path": str(home / "old.txt"), "content": "one\ntwo\n"}),
        call("edit_file", {"path": str(home / "old.txt"), "old_str": "two", "new_str": "zwei"}),
        call("apply_patch", {"patchText": patch}),
        call("Read", {"path": str(home / "old.txt")}),
        say("Done."),
    )
    session.create(permissionMode="acceptEdits").turn("Work")
    diffs = {(Path(part.path).name, part.action): part.diff or "" for part in session.files()}
    assert diffs["new.txt", "write"].endswith("@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n")
    assert diffs["old.txt", "write"].endswith("@@ -1 +1,2 @@\n-before\n+one\n+two\n")
    assert "-two\n+zwei\n" in diffs["old.txt", "patch"]
    assert diffs["added.txt", "write"].startswith("--- /dev/null\n+++ b/")
    assert "\n+++ /dev/null\n" in diffs["gone.txt", "write"]
    assert "/moved.txt\n+++ b/" in diffs["there.txt", "patch"]
    assert ("old.txt", "read") in diffs
    assert session.outputs()[-1] == "1: one\n2: zwei"


def test_a_tool_that_fails_is_a_failed_result(session: AmpSession) -> None:
    session.model.script.add(call("Read", {"path": "/no/such/file"}), say("It is not there."))
    session.create().turn("Read it")
    (result,) = session.items("tool_result")
    assert result.status == "failed"
    assert "ENOENT" in (result.error or "")


def test_images_are_sent_to_and_returned_by_the_agent(session: AmpSession) -> None:
    path = session.workspace / "dot.png"
    path.write_bytes(PNG)
    session.model.script.add(call("Read", {"path": str(path)}), say("A dot."))
    data = base64.b64encode(PNG).decode()
    session.create().turn("What is it?", attachments=[{"data": data, "mime": "image/png", "filename": "dot.png"}])
    assert "image/png" in session.thread_text()
    (image,) = [part for part in session.items("tool_result")[0].content if isinstance(part, ImagePart)]
    assert (image.path, image.mime) == (str(path), "image/png")
    assert session.replies() == ["A dot."]


def test_an_mcp_server_of_the_session_is_named_with_its_tools(session: AmpSession) -> None:
    server = Path(__file__).parents[1] / "adding_mcp_server.py"
    session.model.script.add(call("mcp__sums__add", {"a": 2, "b": 3}), say("Five."))
    mcp = {"sums": {"type": "local", "command": [sys.executable, server.name], "cwd": str(server.parent)}}
    session.create(mcp=mcp, permissionMode="bypass").turn("Add")
    (tool,) = session.items("tool_call")
    (part,) = tool.content
    assert isinstance(part, ToolCallPart)
    assert (part.name, part.mcp_server) == ("add", "sums")
    assert session.outputs() == ["The sum is 5"]


def test_a_custom_tool_is_executed_by_the_client_without_a_permission(session: AmpSession) -> None:
    tool = {"name": "get_weather", "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}
    session.model.script.add(call("mcp__everyagent__get_weather", {"city": "Oslo"}), say("It rains."))
    session.create(tools=[tool]).send("Weather?")
    asked = session.next(ToolRequested)
    assert (asked.name, asked.input) == ("get_weather", {"city": "Oslo"})
    session.call("POST", f"/sessions/{session.id}/tools/{asked.tool_id}/reply", {"output": "rain"})
    session.next(TurnEnded)
    assert session.outputs() == ["rain"]


def test_the_system_prompt_is_sent_once_before_the_first_message(session: AmpSession) -> None:
    session.model.script.add(say("Arr."), say("Arr again."))
    session.create(systemPrompt="Answer as a pirate.").turn("Hello")
    session.turn("Again")
    assert session.thread_text().count("Answer as a pirate.") == 1
    assert [item for item in session.items("message") if "pirate" in str(item.content)] == []


def test_the_variant_selects_the_mode_of_amp(session: AmpSession) -> None:
    session.model.script.add(say("Hm."), say("Quick."))
    session.create(variant="ultra").turn("Think hard")
    assert session.thread.mode == "ultra"
    session.change(variant="low")
    assert session.turn("Not so hard").stop_reason == "end_turn"
    assert session.thread.mode == "low"


def test_a_message_steered_into_a_turn_reaches_the_model(session: AmpSession) -> None:
    session.model.script.add(call("shell_command", WAIT), say("Blue it is.", when="Make it blue"))
    session.create(permissionMode="bypass").send("Paint it")
    session.until(lambda: session.items("tool_call"))
    session.send("Make it blue", delivery="steer")
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert session.replies() == ["Blue it is."]
    assert len(session.all(TurnStarted)) == 1


def test_a_message_steered_into_a_text_reply_is_answered_in_the_same_turn(session: AmpSession) -> None:
    reply = say("Words.", held=True)
    session.model.script.add(reply, say("Blue it is.", when="Make it blue"))
    session.create().send("Talk")
    session.until(lambda: session.info()["nativeSessionId"])
    session.send("Make it blue", delivery="steer")
    session.until(lambda: "Make it blue" in str(session.thread.waiting) or None)
    reply.release.set()
    session.next(TurnEnded)
    assert session.replies() == ["Words.", "Blue it is."]
    assert len(session.all(TurnEnded)) == 1


def test_retries_and_sub_agents_that_amp_hides_have_no_events(session: AmpSession) -> None:
    """Amp does not print its retries or the messages of its sub-agents."""
    session.model.script.add(Reply(text="Recovered.", retries=True, subagent_text="A sub-agent's words."))
    session.create().turn("Go")
    assert session.replies() == ["Recovered."]
    assert session.all(Error) == []


def test_a_turn_stopped_by_another_client_is_interrupted(session: AmpSession) -> None:
    session.model.script.add(Reply(text="Half a", cut_short=True), say("Whole."))
    assert session.create().turn("Go").stop_reason == "interrupted"
    assert session.turn("Again").stop_reason == "end_turn"


def test_a_message_of_another_client_is_a_separate_turn(session: AmpSession) -> None:
    session.model.script.add(say("One."), say("Hello, page."))
    session.create().turn("first")
    session.thread.write("From Amp's own page")
    session.next(TurnEnded, 2)
    assert session.replies() == ["One.", "Hello, page."]
    assert [started.input_item_ids for started in session.all(TurnStarted)][1] == []
    assert "From Amp's own page" in str(session.items("message"))
