"""Turns with the real program: words, thoughts, commands, patches, plans."""

from codex_stage import CodexSession
from tests.scripted.responses_replies import call, numbered, patch, run, say, search, think

from everyagent.model.events import ItemCompleted, ItemDelta, Unparsed
from everyagent.model.items import reasoning_of
from everyagent.model.parts import FileRefPart, StatusPart, ToolCallPart, ToolResultPart

PATCH = """*** Begin Patch
*** Update File: a.txt
@@
 hello
-world
+there
*** Add File: new.txt
+brand new
*** End Patch
"""


def test_words_are_streamed_and_counted(session: CodexSession) -> None:
    session.model.script.add(say("Hello from the scripted model."))
    ended = session.create().turn("Hello")
    assert ended.stop_reason == "end_turn"
    assert ended.usage
    assert (ended.usage.input_tokens, ended.usage.cache_read_tokens, ended.usage.output_tokens) == (100, 20, 30)
    assert session.replies() == ["Hello from the scripted model."]
    assert len([delta for delta in session.all(ItemDelta) if delta.kind == "text"]) > 2
    assert session.info()["nativeSessionId"]
    assert len([item for item in session.items("message") if item.role == "user"]) == 1


def test_a_second_turn_knows_the_first(session: CodexSession) -> None:
    session.model.script.add(say("First."), say("Second."))
    session.create().turn("One")
    assert session.turn("Two").usage
    assert session.replies() == ["First.", "Second."]
    assert "First." in session.model.requests[-1].everything


def test_replies_and_calls_with_repeated_ids_are_kept(session: CodexSession) -> None:
    """Some gateways number responses, items and calls from 1 for every request."""
    for word in ("one", "two"):
        session.model.script.add(numbered(run(f"echo {word}")), numbered(run(f"echo {word} again")))
        session.model.script.add(numbered(think(f"I think {word}.", f"I say {word}.")))
    session.create(permissionMode="bypass")
    for word in ("one", "two"):
        assert session.turn(word).stop_reason == "end_turn"
    assert session.replies() == ["I say one.", "I say two."]
    thoughts = [item for item in session.items("message") if item.name == "reasoning"]
    assert [reasoning_of(item) for item in thoughts] == ["I think one.", "I think two."]
    results = [part for item in session.items("tool_result") for part in item.content]
    outputs = [part.output for part in results if isinstance(part, ToolResultPart)]
    assert outputs == ["one\n", "one again\n", "two\n", "two again\n"]
    items = [done.item for done in session.all(ItemCompleted)]
    assert len({item.item_id for item in items}) == len(items)
    assert session.all(Unparsed) == []


def test_reasoning_is_an_item_of_its_own(session: CodexSession) -> None:
    session.model.script.add(think("I think about it.", "Done."))
    session.create().turn("Think")
    thoughts = [item for item in session.items("message") if item.name == "reasoning"]
    assert [reasoning_of(item) for item in thoughts] == ["I think about it."]
    assert session.replies() == ["Done."]


def test_a_command_is_a_call_and_its_result(session: CodexSession) -> None:
    session.model.script.add(run("echo out; exit 3"), say("It failed."))
    session.create(permissionMode="bypass").turn("Run it")
    (called,) = session.items("tool_call")
    (returned,) = session.items("tool_result")
    assert isinstance(called.content[0], ToolCallPart)
    assert "echo out; exit 3" in called.content[0].arguments
    result = returned.content[0]
    assert isinstance(result, ToolResultPart)
    assert (result.output, result.exit_code, result.is_error) == ("out\n", 3, True)


def test_a_slow_command_streams_its_output(session: CodexSession) -> None:
    session.model.script.add(run("for i in 1 2 3; do echo line $i; sleep 0.3; done"), say("Done."))
    session.create(permissionMode="bypass").turn("Run it")
    assert any("line" in delta.delta for delta in session.all(ItemDelta) if delta.kind == "tool_output")


def test_a_patch_has_its_files_and_diffs(session: CodexSession) -> None:
    (session.workspace / "a.txt").write_text("hello\nworld\n")
    session.model.script.add(patch(PATCH), say("Patched."))
    session.create(permissionMode="bypass").turn("Patch it")
    (returned,) = session.items("tool_result")
    files = [part for part in returned.content if isinstance(part, FileRefPart)]
    assert [file.path.rpartition("/")[2] for file in files] == ["a.txt", "new.txt"]
    assert [file.action for file in files] == ["patch", "write"]
    assert "-world\n+there\n" in (files[0].diff or "")
    assert (session.workspace / "new.txt").read_text() == "brand new\n"
    assert session.statuses("turn_diff")


def test_the_end_of_a_command_that_outlives_its_turn_is_reported(session: CodexSession) -> None:
    waiting = "while [ ! -e go ]; do sleep 0.1; done; echo late"
    session.model.script.add(run(waiting, yield_time_ms=300), say("It runs on."))
    assert session.create(permissionMode="bypass").turn("Start it").stop_reason == "end_turn"
    (returned,) = session.items("tool_result")
    assert (returned.status, returned.error) == ("failed", "The turn ended before this did.")
    (session.workspace / "go").touch()
    (ended,) = session.until(lambda: session.statuses("background_command"))
    assert "exit code 0" in str(ended.content)
    assert "late" in str(ended.content)


def test_a_plan_is_reported_as_its_steps(session: CodexSession) -> None:
    steps = [{"step": "Look", "status": "in_progress"}, {"step": "Edit", "status": "pending"}]
    session.model.script.add(call("update_plan", {"plan": list(steps)}), say("Planned."))
    session.create().turn("Plan")
    (plan,) = session.statuses("plan")
    assert [(part.label, part.detail) for part in plan.content if isinstance(part, StatusPart)] == [
        ("Look", "in_progress"),
        ("Edit", "pending"),
    ]


def test_a_search_of_the_web_is_a_call(session: CodexSession) -> None:
    session.configure(web_search="live")
    session.model.script.add(search("everyagent"), say("Found."))
    session.create().turn("Search")
    (called,) = session.items("tool_call")
    assert called.name == "web_search"
    assert "everyagent" in str(called.content)


def test_phases_of_a_message_are_its_name(session: CodexSession) -> None:
    session.model.script.add(say("Looking.", phase="commentary"))
    session.create().turn("Go")
    assert [item.name for item in session.items("message") if item.role == "assistant"] == ["commentary"]


def test_compacting_is_a_turn_of_its_own(session: CodexSession) -> None:
    session.model.script.add(say("A long story."), say("A summary."))
    session.create().turn("Tell me")
    assert session.turn("/compact").stop_reason == "end_turn"
    assert session.statuses("compaction")


def test_a_patch_that_does_not_apply_is_a_failed_call(session: CodexSession) -> None:
    session.model.script.add(patch(PATCH), say("It does not fit."))
    session.create(permissionMode="bypass").turn("Patch it")
    (called,) = session.items("tool_call")
    (returned,) = session.items("tool_result")
    assert (called.name, returned.status) == ("apply_patch", "failed")
    assert "a.txt" in (returned.error or "")


def test_a_command_that_codex_refuses_by_itself_is_a_failed_call(session: CodexSession) -> None:
    session.model.script.add(run("touch x", sandbox_permissions="require_escalated"), say("Then not."))
    session.create(permissionMode="sandboxed").turn("Touch it")
    (called,) = session.items("tool_call")
    (returned,) = session.items("tool_result")
    assert (called.name, returned.status) == ("shell", "failed")
    assert "approval policy" in (returned.error or "")
