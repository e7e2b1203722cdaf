"""Permissions and questions of the real program, with every answer."""

import sys
from pathlib import Path

from codex_stage import CodexSession
from tests.scripted.responses_replies import call, patch, run, say

from everyagent.model.events import (
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    ToolRequested,
    TurnEnded,
)
from everyagent.model.parts import Json, ToolResultPart

PATCH = "*** Begin Patch\n*** Add File: new.txt\n+brand new\n*** End Patch\n"
OUTSIDE = "*** Begin Patch\n*** Add File: {path}\n+brand new\n*** End Patch\n"
NOTES = {"notes": {"type": "local", "command": [sys.executable, str(Path(__file__).parent / "notes_mcp_server.py")]}}
QUESTIONS: dict[str, Json] = {
    "questions": [
        {
            "id": "db",
            "header": "Database",
            "question": "Which one?",
            "options": [{"label": "SQLite", "description": "A file"}, {"label": "Postgres", "description": "A server"}],
        }
    ]
}


def outputs(session: CodexSession) -> list[str]:
    parts = [part for item in session.items("tool_result") for part in item.content]
    return [part.output for part in parts if isinstance(part, ToolResultPart)]


# -- commands ---------------------------------------------------------------------------------------------------


def test_a_command_runs_once_it_is_permitted(session: CodexSession) -> None:
    session.model.script.add(run("touch made.txt && echo made"), say("Made."))
    session.create().send("Make it")
    asked = session.next(PermissionRequested)
    assert asked.action == "shell"
    assert "touch made.txt" in str(asked.input)
    assert asked.item_id == session.items("tool_call")[0].item_id
    assert not (session.workspace / "made.txt").exists()
    session.permit(asked.permission_id, "once")
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert outputs(session) == ["made\n"]
    assert session.next(PermissionResolved).status == "approved"


def test_a_command_permitted_always_is_not_asked_for_again(session: CodexSession) -> None:
    session.model.script.add(run("touch made.txt"), say("Once."), run("touch made.txt"), say("Twice."))
    session.create().send("Make it")
    session.permit(session.next(PermissionRequested).permission_id, "always")
    session.next(TurnEnded)
    assert session.turn("Again").stop_reason == "end_turn"
    assert len(session.all(PermissionRequested)) == 1
    assert [item.status for item in session.items("tool_result")] == ["completed", "completed"]


def test_a_rejected_command_does_not_run_and_the_turn_continues(session: CodexSession) -> None:
    session.model.script.add(run("touch made.txt"), say("Then not."))
    session.create().send("Make it")
    session.permit(session.next(PermissionRequested).permission_id, "reject")
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert [item.status for item in session.items("tool_result")] == ["failed"]
    assert session.replies() == ["Then not."]
    assert not (session.workspace / "made.txt").exists()


def test_the_reason_of_a_rejection_reaches_the_model(session: CodexSession) -> None:
    session.model.script.add(run("touch made.txt"), say("Then not."), say("Yellow, then."))
    session.create().send("Make it")
    session.permit(session.next(PermissionRequested).permission_id, "reject", "Make it yellow instead")
    session.next(TurnEnded)
    assert any("Make it yellow instead" in request.everything for request in session.model.requests)


def test_a_second_answer_is_refused(session: CodexSession) -> None:
    session.model.script.add(run("touch made.txt"), say("Made."))
    session.create().send("Make it")
    asked = session.next(PermissionRequested)
    session.permit(asked.permission_id, "once")
    path = f"/sessions/{session.id}/permissions/{asked.permission_id}/reply"
    session.call("POST", path, {"reply": "reject"}, expect=409)
    session.next(TurnEnded)


# -- patches ----------------------------------------------------------------------------------------------------


def test_a_patch_is_asked_for_with_its_diff(session: CodexSession) -> None:
    session.model.script.add(patch(PATCH), say("Patched."))
    session.create().send("Patch it")
    asked = session.next(PermissionRequested)
    assert asked.action == "apply_patch"
    assert "+brand new" in str(asked.input)
    session.permit(asked.permission_id, "once")
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert (session.workspace / "new.txt").read_text() == "brand new\n"


def test_a_rejected_patch_changes_nothing(session: CodexSession) -> None:
    session.model.script.add(patch(PATCH), say("Then not."))
    session.create().send("Patch it")
    session.permit(session.next(PermissionRequested).permission_id, "reject")
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert not (session.workspace / "new.txt").exists()
    assert [item.status for item in session.items("tool_result")] == ["failed"]


def test_a_file_permitted_always_is_not_asked_for_again(session: CodexSession) -> None:
    second = "*** Begin Patch\n*** Update File: new.txt\n@@\n-brand new\n+older\n*** End Patch\n"
    session.model.script.add(patch(PATCH), say("One."), patch(second), say("Two."))
    session.create().send("Patch it")
    session.permit(session.next(PermissionRequested).permission_id, "always")
    session.next(TurnEnded)
    session.turn("Again")
    assert len(session.all(PermissionRequested)) == 1
    assert (session.workspace / "new.txt").read_text() == "older\n"


def test_accepted_edits_are_not_asked_for_but_commands_are(session: CodexSession) -> None:
    session.model.script.add(patch(PATCH), run("touch made.txt"), say("Done."))
    session.create(permissionMode="acceptEdits").send("Do it")
    asked = session.next(PermissionRequested)
    assert asked.action == "shell"
    assert (session.workspace / "new.txt").exists()
    session.permit(asked.permission_id, "reject")
    session.next(TurnEnded)


def test_accepted_edits_end_at_the_directory(session: CodexSession) -> None:
    session.model.script.add(patch(OUTSIDE.format(path=session.home / "new.txt")), say("Done."))
    session.create(permissionMode="acceptEdits").send("Do it")
    session.permit(session.next(PermissionRequested).permission_id, "reject")
    session.next(TurnEnded)
    assert not (session.home / "new.txt").exists()


# -- MCP --------------------------------------------------------------------------------------------------------


def test_a_tool_of_an_mcp_server_that_only_reads_is_not_asked_for(session: CodexSession) -> None:
    session.model.script.add(call("read", {"text": "me"}, namespace="mcp__notes"), say("Read."))
    session.create(mcp=NOTES).turn("Read it")
    assert outputs(session) == ["read: me"]
    (called,) = session.items("tool_call")
    assert "'notes'" in str(called.content)


def test_a_tool_of_an_mcp_server_runs_once_it_is_permitted(session: CodexSession) -> None:
    session.configure('approval_policy = "on-request"')
    session.model.script.add(call("write", {"text": "me"}, namespace="mcp__notes"), say("Wrote."))
    session.create(mcp=NOTES, permissionMode="auto").send("Write it")
    asked = session.next(PermissionRequested)
    assert (asked.tool, asked.input) == ("write", {"text": "me"})
    session.permit(asked.permission_id, "once")
    session.next(TurnEnded)
    assert outputs(session) == ["write: me"]


def test_a_tool_of_an_mcp_server_permitted_always_is_not_asked_for_again(session: CodexSession) -> None:
    write = {"text": "me"}
    session.model.script.add(
        call("write", write, namespace="mcp__notes"), say("A."), call("write", write, namespace="mcp__notes"), say("B.")
    )
    session.create(mcp=NOTES, permissionMode="auto").send("Write it")
    session.permit(session.next(PermissionRequested).permission_id, "always")
    session.next(TurnEnded)
    session.turn("Again")
    assert len(session.all(PermissionRequested)) == 1
    assert outputs(session) == ["write: me", "write: me"]


def test_a_rejected_tool_of_an_mcp_server_fails(session: CodexSession) -> None:
    session.model.script.add(call("write", {"text": "me"}, namespace="mcp__notes"), say("Then not."))
    session.create(mcp=NOTES, permissionMode="auto").send("Write it")
    session.permit(session.next(PermissionRequested).permission_id, "reject")
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert [item.status for item in session.items("tool_result")] == ["failed"]


def test_a_form_of_an_mcp_server_is_a_question_for_each_field(session: CodexSession) -> None:
    session.model.script.add(call("book", {}, namespace="mcp__notes"), say("Booked."))
    session.create(mcp=NOTES, permissionMode="auto").send("Book it")
    asked = session.next(QuestionRequested)
    assert [question.prompt for question in asked.questions] == ["When?\n\nDate", "When?\n\nPeople"]
    session.answer(asked.question_id, ["Friday"], ["4"])
    session.next(TurnEnded)
    assert '"content": {"date": "Friday", "people": 4}' in outputs(session)[0]


def test_a_form_of_an_mcp_server_can_be_rejected(session: CodexSession) -> None:
    session.model.script.add(call("book", {}, namespace="mcp__notes"), say("Not booked."))
    session.create(mcp=NOTES, permissionMode="auto").send("Book it")
    session.reject(session.next(QuestionRequested).question_id)
    session.next(TurnEnded)
    assert '"decline"' in outputs(session)[0]


# -- questions --------------------------------------------------------------------------------------------------


def test_a_question_is_answered(session: CodexSession) -> None:
    session.model.script.add(call("request_user_input", QUESTIONS), say("Postgres it is."))
    session.create().send("Ask me")
    asked = session.next(QuestionRequested)
    assert (asked.prompt, asked.options) == ("Which one?", ["SQLite", "Postgres"])
    session.answer(asked.question_id, ["Postgres"])
    session.next(TurnEnded)
    assert "Postgres" in session.model.requests[-1].new_text
    assert session.next(QuestionResolved).answers == [["Postgres"]]


def test_a_rejected_question_does_not_stop_the_turn(session: CodexSession) -> None:
    session.model.script.add(call("request_user_input", QUESTIONS), say("Then I choose."))
    session.create().send("Ask me")
    session.reject(session.next(QuestionRequested).question_id)
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert session.replies() == ["Then I choose."]


# -- custom tools -----------------------------------------------------------------------------------------------


def test_a_custom_tool_is_executed_by_the_client(session: CodexSession) -> None:
    tool = {"name": "get_weather", "description": "The weather", "inputSchema": {"type": "object"}}
    session.model.script.add(call("get_weather", {"city": "Oslo"}, namespace="mcp__everyagent"), say("Snow."))
    session.create(tools=[tool]).send("How is it in Oslo?")
    asked = session.next(ToolRequested)
    assert (asked.name, asked.input) == ("get_weather", {"city": "Oslo"})
    session.call("POST", f"/sessions/{session.id}/tools/{asked.tool_id}/reply", {"output": "snow, -3"})
    session.next(TurnEnded)
    assert outputs(session) == ["snow, -3"]
    assert session.all(PermissionRequested) == []
