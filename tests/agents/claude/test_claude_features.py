"""Models, modes, images, MCP, custom tools, sub-agents and compaction of the real Claude Code."""

import base64
import json
import sys
from pathlib import Path

from claude_stage import ClaudeSession
from recorded import Player
from tests.compat.rows import passed
from tests.scripted.messages_replies import call, say

from everyagent.agents.mock.program.png import gradient
from everyagent.cli.sessions.case import write_case
from everyagent.client import Client
from everyagent.model.events import (
    ItemCompleted,
    PermissionRequested,
    SessionUpdated,
    ToolRequested,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.parts import ImagePart, StatusPart, ToolResultPart
from everyagent.testing.daemon import TOKEN

PNG = gradient(16)


def statuses(session: ClaudeSession, name: str) -> list[str]:
    items = [item for item in session.items("status") if item.name == name]
    return [part.label for item in items for part in item.content if isinstance(part, StatusPart)]


def test_models_and_efforts_come_from_the_program(session: ClaudeSession) -> None:
    session.create()
    offered = session.call("GET", "/agents/claude/models").json()
    models = {model["id"]: model for model in offered["models"]}
    assert {"default", "opus", "sonnet", "haiku", "fable"} <= set(models)
    assert models["opus"]["variants"] == ["low", "medium", "high", "xhigh", "max"]
    modes = session.call("GET", "/agents/claude/modes").json()["permissionModes"]
    assert {"default", "plan", "acceptEdits", "bypass", "dontAsk", "auto"} <= {mode["id"] for mode in modes}


def test_model_and_effort_change_without_a_restart(session: ClaudeSession) -> None:
    session.model.script.add(say("One."), say("Two."))
    session.create(model="opus", variant="low").turn("one")
    session.change(model="sonnet", variant="high")
    session.turn("two")
    first, second = session.model.requests
    assert "opus" in first.model
    assert first.output_config == {"effort": "low"}
    assert "sonnet" in second.model
    assert second.output_config == {"effort": "high"}
    assert "hibernated" not in [each.status for each in session.all(SessionUpdated)]


def test_a_mode_changes_mid_session(session: ClaudeSession) -> None:
    path = str(session.workspace / "x.txt")
    session.model.script.add(say("One."), call("Write", {"file_path": path, "content": "x"}), say("Written."))
    session.create().turn("one")
    session.change(permissionMode="acceptEdits")
    session.turn("Write it")
    assert session.all(PermissionRequested) == []
    assert Path(path).read_text() == "x"


def test_a_change_to_bypass_restarts_the_agent_and_keeps_the_conversation(session: ClaudeSession) -> None:
    session.model.script.add(
        say("Noted."), call("Bash", {"command": "touch made", "description": "make"}), say("Made.")
    )
    session.create().turn("Remember seven")
    session.change(permissionMode="bypass")
    session.turn("Make it")
    assert (session.workspace / "made").exists()
    assert session.all(PermissionRequested) == []
    assert "Remember seven" in str(session.model.requests[-1].messages)


def test_dont_ask_denies_without_asking(session: ClaudeSession) -> None:
    session.model.script.add(call("Bash", {"command": "touch made", "description": "make"}), say("I may not."))
    session.create(permissionMode="dontAsk").turn("Make it")
    assert session.all(PermissionRequested) == []
    assert statuses(session, "permission_denied") == ["Bash was denied without asking"]
    assert not (session.workspace / "made").exists()


def test_an_image_reaches_the_model(session: ClaudeSession) -> None:
    session.model.script.add(say("A dot."))
    data = base64.b64encode(PNG).decode()
    session.create().turn("What is it?", attachments=[{"data": data, "mime": "image/png", "filename": "dot.png"}])
    assert "image/png" in str(session.model.requests[-1].messages)
    (item,) = [item for item in session.items("message") if item.role == "user"]
    assert any(isinstance(part, ImagePart) for part in item.content)


def test_an_image_that_a_tool_reads_is_an_image_part(session: ClaudeSession) -> None:
    path = session.workspace / "dot.png"
    path.write_bytes(PNG)
    session.model.script.add(call("Read", {"file_path": str(path)}), say("A dot."))
    session.create().turn("Look at it")
    (image,) = [part for part in session.items("tool_result")[0].content if isinstance(part, ImagePart)]
    assert image.path == str(path)
    assert image.data


def test_stderr_is_apart_where_claude_code_tells_it_apart(session: ClaudeSession) -> None:
    """It joins both streams of a command, and adds what it has to say about the command as stderr."""
    session.model.script.add(call("Bash", {"command": "cd / && echo out && echo err >&2"}), say("Done."))
    session.create(permissionMode="bypass").turn("Go there")
    (part,) = [part for part in session.items("tool_result")[0].content if isinstance(part, ToolResultPart)]
    assert "out\nerr" in part.output
    assert part.stderr
    assert "cwd was reset" in part.stderr


def test_the_system_prompt_is_appended(session: ClaudeSession) -> None:
    """Also a prompt that is longer than the limit of an argument."""
    prompt = "Always answer as a pirate." + " Arr." * 40_000
    session.model.script.add(say("Arr."))
    session.create(systemPrompt=prompt).turn("Hello")
    system = str(session.model.requests[-1].system)
    assert prompt in system
    assert "Claude" in system


def test_an_mcp_server_of_the_session_is_named_with_its_tools(session: ClaudeSession) -> None:
    server = Path(__file__).parents[1] / "adding_mcp_server.py"
    session.model.script.add(call("mcp__sums__add", {"a": 2, "b": 3}), say("Five."))
    session.create(mcp={"sums": {"type": "local", "command": [sys.executable, str(server)]}}).send("Add")
    session.permit(session.next(PermissionRequested).permission_id, "once")
    session.next(TurnEnded)
    (tool,), (result,) = session.items("tool_call"), session.items("tool_result")
    assert tool.name == "add"
    assert "The sum is 5" in [part.output for part in result.content if isinstance(part, ToolResultPart)]


def test_a_custom_tool_is_executed_by_the_client(session: ClaudeSession) -> None:
    tool = {
        "name": "get_weather",
        "description": "The weather of a city",
        "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    session.model.script.add(call("mcp__everyagent__get_weather", {"city": "Oslo"}), say("Snow."))
    session.create(tools=[tool]).send("How is it in Oslo?")
    asked = session.next(ToolRequested)
    assert (asked.name, asked.input) == ("get_weather", {"city": "Oslo"})
    session.call("POST", f"/sessions/{session.id}/tools/{asked.tool_id}/reply", {"output": "snow, -3"})
    session.next(TurnEnded)
    assert session.all(PermissionRequested) == []
    assert "snow, -3" in session.model.requests[-1].new_text


def test_claude_code_drives_a_session_of_another_agent(session: ClaudeSession) -> None:
    """Over the daemon's own MCP server: it starts a mock session, and gets its result."""
    task = {"agent": "mock", "message": "The mock's own words", "directory": str(session.workspace)}
    session.model.script.add(call("mcp__agents__start_session", task, when="Delegate"), say("Delegated."))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    session.create(
        mcp={"agents": {"type": "remote", "url": f"{session.daemon.url}/mcp", "headers": headers}},
        toolPolicies={"mcp": {"agents": {"default": "allow"}}},
    ).turn("Delegate it")
    (result,) = session.items("tool_result")
    (output,) = [part.output for part in result.content if isinstance(part, ToolResultPart)]
    assert '"stop_reason":"end_turn"' in output
    assert "The mock's own words" in output
    assert TOKEN not in str(session.call("GET", f"/sessions/{session.id}/events?include_raw=true").content)
    passed("claude-code")


def test_a_session_becomes_a_test_case_that_gives_the_same_events(session: ClaudeSession, tmp_path: Path) -> None:
    session.model.script.add(call("Bash", {"command": "pwd"}, when="Where"), say("There."))
    session.create().turn("Where are you?")
    with Client(session.daemon.url, TOKEN) as client:
        write_case(client, session.id, tmp_path / "case")
    assert str(session.workspace) not in (tmp_path / "case" / "frames.jsonl").read_text()
    played = Player().play(str(tmp_path / "case"))
    items = [event.data.item for event in played if isinstance(event.data, ItemCompleted)]
    assert [item.kind for item in items] == [each.item.kind for each in session.all(ItemCompleted)]
    assert [event.data.stop_reason for event in played if isinstance(event.data, TurnEnded)] == ["end_turn"]


def test_items_of_a_sub_agent_belong_to_the_call_that_made_it(session: ClaudeSession) -> None:
    task = {"description": "Look around", "prompt": "LOOK AROUND NOW", "subagent_type": "Explore"}
    session.model.script.add(
        call("Agent", {**task, "run_in_background": False}, when="Use a helper"),
        call("Bash", {"command": "ls", "description": "list"}, when="LOOK AROUND NOW"),
        say("I saw nothing.", when="(Bash completed with no output)"),
        say("Nothing there."),
    )
    session.create(permissionMode="bypass").turn("Use a helper")
    (parent, child) = session.items("tool_call")
    assert parent.name == "Agent"
    assert child.subagent == parent.item_id
    inner = [item for item in session.items("message") if item.subagent == parent.item_id]
    assert inner
    assert session.replies() == ["Nothing there."]
    assert "Task started: Look around" in statuses(session, "task")


def test_compaction_is_reported_as_a_status(session: ClaudeSession) -> None:
    session.model.script.add(
        say("One."),
        say("<analysis>a</analysis><summary>They counted.</summary>", when="TEXT ONLY"),
        say("Two."),
    )
    session.create().turn("Count")
    assert session.turn("/compact").stop_reason == "end_turn"
    assert "Conversation compacted (manual)" in statuses(session, "compaction")
    assert session.turn("Go on").stop_reason == "end_turn"


def test_a_full_context_is_compacted_automatically(session: ClaudeSession) -> None:
    full = say("One.")
    full.usage = {"input_tokens": 990_000}
    summary = say("<analysis>a</analysis><summary>They counted.</summary>", when="TEXT ONLY")
    session.model.script.add(full, summary, say("Two."))
    session.create().turn("Count")
    assert session.turn("Go on").stop_reason == "end_turn"
    assert "Conversation compacted (auto)" in statuses(session, "compaction")


def test_a_slash_command_is_answered_by_the_program(session: ClaudeSession) -> None:
    session.model.script.add(say("One."))
    session.create().turn("Count")
    requests = len(session.model.requests)
    assert session.turn("/cost").stop_reason == "end_turn"
    assert "Total cost" in session.replies()[-1]
    assert len(session.model.requests) == requests


def test_hooks_of_the_users_settings_are_reported(session: ClaudeSession) -> None:
    settings = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo stopped"}]}]}}
    (session.home / ".claude").mkdir()
    (session.home / ".claude" / "settings.json").write_text(json.dumps(settings))
    session.model.script.add(say("One."))
    session.create().turn("Count")
    assert "Hook Stop" in statuses(session, "hook")


def test_a_background_task_that_ends_begins_a_turn_of_its_own(session: ClaudeSession) -> None:
    command = {"command": "python3 -c 'import time; time.sleep(2)'", "description": "wait", "run_in_background": True}
    session.model.script.add(call("Bash", command), say("It runs."), say("It is done."))
    session.create(permissionMode="bypass").turn("Start it")
    session.until(lambda: session.replies() == ["It runs.", "It is done."])
    assert session.next(TurnEnded, 2).stop_reason == "end_turn"
    assert [len(turn.input_item_ids) for turn in session.all(TurnStarted)] == [1, 0]
