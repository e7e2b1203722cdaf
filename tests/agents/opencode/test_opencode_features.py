"""Features of the real program besides turns: models, files, instructions, sub-agents, plans, MCP, custom tools."""

import base64
import sys
import zlib
from pathlib import Path

import msgspec
from opencode_stage import MODEL, OpencodeSession
from tests.scripted.chat_replies import call, images, run, say

from everyagent.model.events import PermissionRequested, ToolRequested, TurnEnded
from everyagent.model.items import text_of
from everyagent.model.parts import ImagePart, StatusPart, ToolCallPart, ToolResultPart

HERE = Path(__file__).parent
TODOS: list[object] = [
    {"content": "Look", "status": "in_progress", "priority": "high"},
    {"content": "Edit", "status": "pending", "priority": "medium"},
]


def outputs(session: OpencodeSession) -> list[str]:
    parts = [part for item in session.items("tool_result") for part in item.content]
    return [part.output for part in parts if isinstance(part, ToolResultPart)]


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = (1).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    pixels = zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


# -- what there is ----------------------------------------------------------------------------------------------


def test_the_program_and_its_version_are_found(session: OpencodeSession) -> None:
    session.create()
    agents = msgspec.json.decode(session.call("GET", "/agents").content)["agents"]
    (opencode,) = [agent for agent in agents if agent["id"] == "opencode"]
    assert opencode["installed"]
    assert opencode["version"] == opencode["testedVersion"] == "1.18.33"
    assert opencode["capabilities"]["sharedProcess"]
    assert opencode["problem"] is None


def test_agents_and_models_are_asked_of_the_program(session: OpencodeSession) -> None:
    session.create()
    modes = msgspec.json.decode(session.call("GET", "/agents/opencode/modes").content)
    assert "plan" in str(modes)
    catalog = msgspec.json.decode(session.call("GET", "/agents/opencode/models").content)
    assert all("/" in model["id"] for model in catalog["models"])


# -- choosing ---------------------------------------------------------------------------------------------------


def test_the_model_and_its_variant_reach_the_api_and_can_be_changed(session: OpencodeSession) -> None:
    session.model.script.add(say("One."), say("Two."))
    session.create(model=MODEL, variant="high").turn("Hello")
    assert session.model.requests[-1].reasoning_effort == "high"
    session.change(variant="low")
    session.turn("Hello")
    assert session.model.requests[-1].reasoning_effort == "low"


def test_an_unknown_model_ends_the_turn_once_with_an_error(session: OpencodeSession) -> None:
    session.model.script.add(say("Back."))
    assert session.create(model="scripted/nope").turn("Hello").stop_reason == "error"
    assert [error.code for error in session.errors()] == ["model_not_found"]
    session.change(model=MODEL)
    assert session.turn("Hello").stop_reason == "end_turn"
    assert len(session.errors()) == 1


def test_a_title_of_ones_own_is_kept_and_no_other_asked_for(session: OpencodeSession) -> None:
    session.model.script.add(say("Hello."), say("Hello."))
    session.create(title="My own").turn("Hello")
    assert session.info()["title"] == "My own"
    untitled = session.another().create()
    untitled.turn("Hello")
    untitled.until(lambda: untitled.info()["title"] == "A scripted title")
    untitled.terminate()


# -- what goes along --------------------------------------------------------------------------------------------


def test_an_image_reaches_the_model_from_a_file_and_from_the_message(session: OpencodeSession) -> None:
    picture = session.workspace / "pic.png"
    picture.write_bytes(png())
    session.model.script.add(say("Red."), say("Red again."))
    session.create().turn("Which colour?", attachments=[{"path": str(picture), "mime": "image/png"}])
    assert len(images(session.model.requests[-1:])) == 1
    inline = {"data": base64.b64encode(png()).decode(), "mime": "image/png", "filename": "pic.png"}
    session.turn("And this?", attachments=[inline])
    assert len(images(session.model.requests[-1:])) == 2


def test_an_image_that_a_tool_reads_has_its_path(session: OpencodeSession) -> None:
    picture = session.workspace / "seen.png"
    picture.write_bytes(png())
    session.model.script.add(call("read", {"filePath": str(picture)}), say("Red."))
    session.create().turn("Which colour?")
    (image,) = [part for part in session.items("tool_result")[0].content if isinstance(part, ImagePart)]
    assert (image.path, image.mime) == (str(picture), "image/png")


def test_a_text_file_is_read_to_the_model_from_a_file_and_from_the_message(session: OpencodeSession) -> None:
    note = session.workspace / "note.txt"
    note.write_text("the note on disk\n")
    session.model.script.add(say("Read."), say("Read."))
    session.create().turn("Read it", attachments=[{"path": str(note)}])
    assert "the note on disk" in session.model.requests[-1].everything
    inline = {"data": base64.b64encode(b"the note inline\n").decode(), "mime": "text/plain", "filename": "n.txt"}
    session.turn("And this", attachments=[inline])
    assert "the note inline" in session.model.requests[-1].everything


def test_the_model_gets_the_path_of_any_other_file(session: OpencodeSession) -> None:
    session.model.script.add(say("Read."))
    data = base64.b64encode(b"\0\1\2").decode()
    session.create().turn("Read it", attachments=[{"data": data, "mime": "application/zip", "filename": "a.zip"}])
    told = session.model.requests[-1].new_text
    path = told[told.index("attached this file: ") :].splitlines()[0].removeprefix("attached this file: ")
    assert Path(path).read_bytes() == b"\0\1\2"


def test_the_system_prompt_reaches_the_model(session: OpencodeSession) -> None:
    session.model.script.add(say("Aye."))
    session.create(systemPrompt="Speak like a pirate").turn("Hello")
    assert "Speak like a pirate" in session.model.requests[-1].everything


def test_commands_run_in_the_directory_and_cannot_drive_the_server(session: OpencodeSession) -> None:
    session.model.script.add(
        run("pwd; env | grep -c OPENCODE_SERVER_PASSWORD; env | grep -c ^EVERYAGENT_TOKEN"), say(".")
    )
    session.create(permissionMode="bypass").turn("Where?")
    assert outputs(session) == [f"{session.workspace}\n0\n0\n"]


def test_searching_finds_ripgrep(session: OpencodeSession) -> None:
    (session.workspace / "haystack.txt").write_text("a needle\n")
    session.model.script.add(
        call("grep", {"pattern": "needle"}), call("glob", {"pattern": "*stack.txt"}), say("Found.")
    )
    session.create().turn("Search")
    assert all("haystack.txt" in output for output in outputs(session))


# -- sub-agents, plans, compaction ------------------------------------------------------------------------------


def test_items_of_a_sub_agent_belong_to_the_call_that_made_it(session: OpencodeSession) -> None:
    task = {"description": "Count", "prompt": "Count them for me", "subagent_type": "general"}
    session.model.script.add(
        call("task", task, when="Ask a helper"),
        run("echo three", when="Count them for me"),
        say("There are three.", when="three"),
        say("The helper says three.", when="There are three"),
    )
    session.create().send("Ask a helper")
    asked = session.next(PermissionRequested)
    session.permit(asked.permission_id, "once")
    ended = session.next(TurnEnded)
    (spawned,) = [item for item in session.items("tool_call") if item.name == "task"]
    inside = [item for item in session.items("message") if item.subagent]
    assert {item.subagent for item in inside} == {spawned.item_id}
    assert [text_of(item) for item in inside if item.role == "user"] == ["Count them for me"]
    assert "There are three." in [text_of(item) for item in inside]
    (command,) = [item for item in session.items("tool_call") if item.name == "bash"]
    assert command.subagent == spawned.item_id
    assert session.replies() == ["The helper says three."]
    assert ended.usage
    assert ended.usage.output_tokens == 120
    assert len(session.all(TurnEnded)) == 1


def test_a_plan_is_reported_as_it_changes(session: OpencodeSession) -> None:
    session.model.script.add(call("todowrite", {"todos": TODOS}), say("Planned."))
    session.create().turn("Plan it")
    (plan,) = session.statuses("plan")
    assert plan.content == [
        StatusPart(label="Look", detail="in_progress"),
        StatusPart(label="Edit", detail="pending"),
    ]


def test_a_conversation_is_compacted_on_demand(session: OpencodeSession) -> None:
    session.model.script.add(say("Noted."), say("It was seven."))
    session.create().turn("Remember seven")
    assert session.turn("/compact").stop_reason == "end_turn"
    (told,) = session.statuses("compaction")
    assert told.content == [StatusPart(label="Conversation compacted")]
    assert session.turn("Which number?").stop_reason == "end_turn"


def test_nothing_to_compact_is_a_clear_error(session: OpencodeSession) -> None:
    assert session.create().turn("/compact").stop_reason == "error"
    assert "nothing to compact" in session.errors()[-1].message


# -- MCP and custom tools -----------------------------------------------------------------------------------------


def test_tools_of_the_sessions_mcp_servers_and_of_its_client_are_called(alone: OpencodeSession) -> None:
    servers: dict[str, object] = {
        "sums": {"type": "local", "command": [sys.executable, str(HERE.parent / "adding_mcp_server.py")]},
        "broken": {"type": "local", "command": ["/does/not/exist"]},
    }
    tool = {"name": "weather", "description": "The weather", "inputSchema": {"type": "object", "properties": {}}}
    alone.model.script.add(call("sums_add", {"a": 2, "b": 3}), call("everyagent_weather", {}), say("Sunny."))
    alone.create(mcp=servers, tools=[tool]).send("Add, then look outside")
    asked = alone.next(PermissionRequested)
    assert (asked.tool, asked.input) == ("add", {"a": 2, "b": 3})
    assert asked.metadata == {"patterns": ["*"], "mcp_server": "sums"}
    assert asked.item_id == next(item.item_id for item in alone.items("tool_call"))
    alone.permit(asked.permission_id, "once")
    wanted = alone.next(ToolRequested)
    assert wanted.name == "weather"
    alone.call("POST", f"/sessions/{alone.id}/tools/{wanted.tool_id}/reply", {"output": "sunny"})
    assert alone.next(TurnEnded).stop_reason == "end_turn"
    parts = [part for item in alone.items("tool_call") for part in item.content if isinstance(part, ToolCallPart)]
    assert [(part.name, part.mcp_server) for part in parts] == [("add", "sums"), ("weather", "everyagent")]
    assert outputs(alone) == ["The sum is 5", "sunny"]
    assert len(alone.all(PermissionRequested)) == 1
    (told,) = alone.statuses("mcp_server")
    assert "broken" in str(told.content)
