"""Features of the real program besides turns: models, modes, images, instructions, environment, sub-agents."""

import base64
import os
import shutil
import zlib
from pathlib import Path

import msgspec
from codex_stage import CodexSession
from tests.scripted.responses_replies import call, custom, images, patch, run, say

from everyagent.model.events import Error, PermissionRequested, QuestionRequested, TurnEnded
from everyagent.model.items import text_of
from everyagent.model.parts import ImagePart, ToolResultPart

PATCH = "*** Begin Patch\n*** Add File: new.txt\n+brand new\n*** End Patch\n"
PLAN = "I looked.\n<proposed_plan>\n# Plan\n- step one\n</proposed_plan>\n"
QUESTION = {"id": "q", "header": "Q", "question": "Which?", "options": [{"label": "A", "description": "a"}]}


def outputs(session: CodexSession) -> list[str]:
    parts = [part for item in session.items("tool_result") for part in item.content]
    return [part.output for part in parts if isinstance(part, ToolResultPart)]


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = (1).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    pixels = zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


# -- what there is ----------------------------------------------------------------------------------------------


def test_the_program_and_its_version_are_found(session: CodexSession) -> None:
    session.create()
    agents = msgspec.json.decode(session.call("GET", "/agents").content)["agents"]
    (codex,) = [agent for agent in agents if agent["id"] == "codex"]
    assert codex["installed"]
    assert codex["version"] == codex["testedVersion"] == "0.166.0"
    assert codex["capabilities"]["sharedProcess"]
    assert codex["problem"] is None


def test_models_and_their_efforts_are_asked_of_the_program(session: CodexSession) -> None:
    session.create()
    catalog = msgspec.json.decode(session.call("GET", "/agents/codex/models").content)
    (model,) = [model for model in catalog["models"] if model["id"] == "gpt-5.5"]
    assert "high" in model["variants"]
    assert catalog["defaultModel"]


def test_a_variant_that_the_model_lacks_is_refused(session: CodexSession) -> None:
    session.create()
    body: dict[str, object] = {
        "agent": "codex",
        "model": "gpt-5.5",
        "variant": "bogus",
        "directory": str(session.workspace),
    }
    assert "variant" in session.call("POST", "/sessions", body, expect=400).text


# -- choosing ---------------------------------------------------------------------------------------------------


def test_the_model_and_effort_reach_the_api_and_can_be_changed(session: CodexSession) -> None:
    session.model.script.add(say("One."), say("Two."))
    session.create(model="gpt-5.5", variant="high").turn("Hello")
    first = session.model.requests[-1]
    assert (first.model, first.reasoning and first.reasoning["effort"]) == ("gpt-5.5", "high")
    pid = session.app_server()
    session.change(model="gpt-5.4", variant="low")
    session.turn("Hello")
    second = session.model.requests[-1]
    assert second.model == "gpt-5.4"
    assert session.app_server() == pid


def test_the_permission_mode_can_be_changed_between_turns(session: CodexSession) -> None:
    session.model.script.add(run("touch a.txt"), say("A."), run("touch b.txt"), say("B."))
    session.create(permissionMode="bypass").turn("Make a")
    assert session.all(PermissionRequested) == []
    session.change(permissionMode="default")
    session.send("Make b")
    session.permit(session.next(PermissionRequested).permission_id, "reject")
    session.next(TurnEnded, 2)
    assert [(session.workspace / name).exists() for name in ("a.txt", "b.txt")] == [True, False]


def test_in_plan_mode_nothing_is_changed_and_the_plan_is_reported(session: CodexSession) -> None:
    session.model.script.add(patch(PATCH), say(PLAN), patch(PATCH), say("Done."))
    session.create(agentMode="plan").turn("Plan it")
    assert not (session.workspace / "new.txt").exists()
    (plan,) = [item for item in session.items("message") if item.name == "plan"]
    assert text_of(plan) == "# Plan\n- step one\n"
    session.change(agentMode="build", permissionMode="bypass")
    session.turn("Do it")
    assert (session.workspace / "new.txt").exists()


def test_questions_are_asked_in_plan_mode(session: CodexSession) -> None:
    session.model.script.add(call("request_user_input", {"questions": [QUESTION]}), say("A it is."))
    session.create(permissionMode="plan").send("Plan it")
    session.answer(session.next(QuestionRequested).question_id, ["A"])
    assert session.next(TurnEnded).stop_reason == "end_turn"


# -- what goes along --------------------------------------------------------------------------------------------


def test_an_image_reaches_the_model_from_a_file_and_from_the_message(session: CodexSession) -> None:
    picture = session.workspace / "pic.png"
    picture.write_bytes(png())
    session.model.script.add(say("Red."), say("Red again."))
    session.create().turn("Which colour?", attachments=[{"path": str(picture), "mime": "image/png"}])
    assert len(images(session.model.requests[-1:])) == 1
    inline = {"data": base64.b64encode(png()).decode(), "mime": "image/png", "filename": "pic.png"}
    session.turn("And this?", attachments=[inline])
    assert len(images(session.model.requests[-1:])) == 2


def test_an_image_that_the_model_looks_at_is_a_call_and_its_result(session: CodexSession) -> None:
    (session.workspace / "dot.png").write_bytes(png())
    session.model.script.add(call("view_image", {"path": str(session.workspace / "dot.png")}), say("A dot."))
    session.create().turn("Look")
    (called,) = session.items("tool_call")
    (returned,) = session.items("tool_result")
    assert (called.name, returned.status) == ("view_image", "completed")
    assert [part.path for part in returned.content if isinstance(part, ImagePart)] == [
        str(session.workspace / "dot.png")
    ]


def test_the_model_gets_the_path_of_any_other_file(session: CodexSession) -> None:
    session.model.script.add(say("Read."))
    data = base64.b64encode(b"a,b\n1,2\n").decode()
    session.create().turn("Read it", attachments=[{"data": data, "mime": "text/csv", "filename": "t.csv"}])
    told = session.model.requests[-1].new_text
    path = told[told.index("attached this file: ") :].splitlines()[0].removeprefix("attached this file: ")
    assert Path(path).read_text() == "a,b\n1,2\n"


def test_the_system_prompt_reaches_the_model(session: CodexSession) -> None:
    session.model.script.add(say("Aye."))
    session.create(systemPrompt="Speak like a pirate").turn("Hello")
    assert "Speak like a pirate" in session.model.requests[-1].everything


def test_commands_run_in_the_directory_with_the_environment_of_the_session(session: CodexSession) -> None:
    session.model.script.add(run("pwd; echo $COLOUR; env | grep -c ^EVERYAGENT_TOKEN"), say("Done."))
    session.create(permissionMode="bypass", env={"COLOUR": "blue"}).turn("Where?")
    assert outputs(session) == [f"{session.workspace}\nblue\n0\n"]


def test_commands_use_the_path_of_the_session(session: CodexSession) -> None:
    """A profile that sets the path anew, as root's does on Debian, has no say in it."""
    greet = session.workspace / "bin" / "greet"
    greet.parent.mkdir()
    greet.write_text("#!/bin/sh\necho hello from the path\n")
    greet.chmod(0o755)
    (session.home / ".profile").write_text("PATH=/usr/bin:/bin\n")
    session.model.script.add(run("greet"), say("Done."))
    path = f"{greet.parent}:{os.environ['PATH']}"
    session.create(permissionMode="bypass", env={"PATH": path}).turn("Greet me")
    assert outputs(session) == ["hello from the path\n"]


def test_sessions_of_another_environment_have_another_process(session: CodexSession) -> None:
    session.model.script.add(say("A."), say("B."))
    session.create().turn("Hello")
    other = session.another().create(env={"COLOUR": "blue"})
    other.turn("Hello")
    assert len(session.processes("app-server")) == 2
    other.terminate()
    assert session.app_server()


def test_an_mcp_server_that_does_not_start_is_reported(session: CodexSession) -> None:
    session.model.script.add(say("Without, then."))
    session.create(mcp={"broken": {"type": "local", "command": ["/does/not/exist"]}}).turn("Hello")
    (told,) = session.statuses("mcp_server")
    assert "broken" in str(told.content)


def test_an_mcp_server_over_sse_is_a_clear_error(session: CodexSession) -> None:
    server = {"type": "remote", "url": "http://127.0.0.1:1/sse", "transport": "sse"}
    assert session.create(mcp={"old": server}).turn("Hello").stop_reason == "error"
    assert "over SSE" in session.all(Error)[-1].message


def test_a_directory_that_is_gone_is_a_clear_error(session: CodexSession) -> None:
    session.create()
    shutil.rmtree(session.workspace)
    assert session.turn("Hello").stop_reason == "error"
    assert "does not exist" in session.all(Error)[-1].message


def test_tool_calls_of_code_that_a_model_writes_are_reported(session: CodexSession) -> None:
    code = 'const done = await tools.exec_command({cmd: "echo from-code"}); text(done.output);'
    session.model.script.add(custom("exec", code), say("Done."))
    session.create(model="gpt-6.1-sol", permissionMode="bypass").turn("Run it")
    assert [item.name for item in session.items("tool_call")] == ["shell"]
    assert outputs(session) == ["from-code\n"]


# -- sub-agents -------------------------------------------------------------------------------------------------


def test_items_of_a_sub_agent_belong_to_the_call_that_made_it(session: CodexSession) -> None:
    space = "collaboration"
    session.model.script.add(
        call("spawn_agent", {"task_name": "helper", "message": "Count"}, namespace=space, when="Ask a helper"),
        say("There are three.", when="NEW_TASK"),
        call("wait_agent", {"timeout_ms": 10000}, namespace=space, when="/root/helper"),
        say("The helper says three.", when="FINAL_ANSWER"),
    )
    ended = session.create(model="gpt-6.1-sol", permissionMode="bypass").turn("Ask a helper")
    (spawned,) = [item for item in session.items("tool_call") if item.name == "spawn_agent"]
    said = [item for item in session.items("message") if item.subagent]
    assert {item.subagent for item in said} == {spawned.item_id}
    assert "There are three." in [text_of(item) for item in said]
    assert ended.usage
    assert ended.usage.output_tokens >= 90
    assert len(session.all(TurnEnded)) == 1


def test_the_trace_of_a_message_is_given_to_the_app_server(session: CodexSession) -> None:
    session.model.script.add(say("Traced"))
    session.create()
    traceparent = f"00-{'ab' * 16}-{'cd' * 8}-01"
    assert session.turn("hello", traceparent=traceparent).stop_reason == "end_turn"
    frames = msgspec.json.decode(session.call("GET", f"/sessions/{session.id}/frames?limit=1000").content)["frames"]
    (start,) = [each["body"] for each in frames if "'turn/start'" in str(each["body"])]
    assert start["trace"] == {"traceparent": traceparent}
