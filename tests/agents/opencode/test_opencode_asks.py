"""Permissions and questions of the real program, with the effect of each answer."""

from opencode_stage import OpencodeSession
from tests.scripted.chat_replies import call, calls, run, say

from everyagent.model.events import PermissionRequested, PermissionResolved, QuestionRequested, QuestionResolved
from everyagent.model.parts import FileRefPart, ToolResultPart

QUESTIONS: list[object] = [
    {
        "question": "Which database?",
        "header": "Database",
        "options": [{"label": "SQLite", "description": "A file"}, {"label": "Postgres", "description": "A server"}],
    },
    {
        "question": "Which features?",
        "header": "Features",
        "multiple": True,
        "options": [{"label": "Auth", "description": "Login"}, {"label": "Search", "description": "Find"}],
    },
]


def outputs(session: OpencodeSession) -> list[str]:
    parts = [part for item in session.items("tool_result") for part in item.content]
    return [part.output for part in parts if isinstance(part, ToolResultPart)]


def test_a_command_runs_once_it_is_permitted(session: OpencodeSession) -> None:
    session.model.script.add(run("echo ran-once"), say("Ran."))
    session.create().send("Run it")
    asked = session.next(PermissionRequested)
    assert (asked.action, asked.tool) == ("bash", "bash")
    assert asked.input == {"command": "echo ran-once"}
    assert asked.options == ["once", "always", "reject"]
    assert asked.item_id
    session.permit(asked.permission_id, "once")
    session.until(session.replies)
    assert "ran-once" in outputs(session)[0]


def test_always_holds_for_similar_calls(session: OpencodeSession) -> None:
    session.model.script.add(run("printf alike-1"), run("printf alike-2"), say("Both ran."))
    session.create().send("Run both")
    asked = session.next(PermissionRequested)
    assert asked.suggestions == [{"always": ["printf *"]}]
    session.permit(asked.permission_id, "always")
    session.until(session.replies)
    assert len(session.all(PermissionRequested)) == 1
    assert len(outputs(session)) == 2


def test_a_rejection_ends_the_turn(session: OpencodeSession) -> None:
    session.model.script.add(run("echo never"), say("Unreached."))
    session.create().send("Run it")
    session.permit(session.next(PermissionRequested).permission_id, "reject")
    assert session.next(PermissionResolved).status == "denied"
    session.until(lambda: session.info()["status"] == "idle")
    (result,) = session.items("tool_result")
    assert result.status == "failed"
    assert session.replies() == []


def test_the_message_of_a_rejection_reaches_the_model(session: OpencodeSession) -> None:
    session.model.script.add(run("echo never"), say("Then not.", when="List instead"))
    session.create().send("Run it")
    session.permit(session.next(PermissionRequested).permission_id, "reject", "List instead")
    session.until(session.replies)
    assert session.replies() == ["Then not."]


def test_several_at_once_are_answered_one_by_one(session: OpencodeSession) -> None:
    both = calls(
        ("bash", {"command": "echo one", "description": "One"}), ("bash", {"command": "ls .", "description": "Two"})
    )
    session.model.script.add(both, say("Both."))
    session.create().send("Run both")
    session.next(PermissionRequested, 2)
    for asked in session.all(PermissionRequested):
        session.permit(asked.permission_id, "once")
    session.until(session.replies)
    assert [result.status for result in session.items("tool_result")] == ["completed", "completed"]


def test_one_rejection_rejects_all(session: OpencodeSession) -> None:
    both = calls(
        ("bash", {"command": "echo one", "description": "One"}), ("bash", {"command": "ls .", "description": "Two"})
    )
    session.model.script.add(both)
    session.create().send("Run both")
    session.permit(session.next(PermissionRequested, 2).permission_id, "reject")
    session.next(PermissionResolved, 2)
    session.until(lambda: session.info()["status"] == "idle")
    assert [resolved.status for resolved in session.all(PermissionResolved)] == ["denied", "denied"]
    assert [result.status for result in session.items("tool_result")] == ["failed", "failed"]


def test_the_ask_and_the_result_of_an_edit_have_its_diff(session: OpencodeSession) -> None:
    file = session.workspace / "edited.txt"
    file.write_text("hello\nworld\n")
    edit = {"filePath": str(file), "oldString": "world", "newString": "there"}
    read = call("read", {"filePath": str(file)})
    session.model.script.add(read, call("edit", edit), say("Edited."))
    session.create().send("Edit it")
    asked = session.next(PermissionRequested)
    assert asked.action == "edit"
    assert isinstance(asked.input, dict)
    assert "+there" in str(asked.input["diff"])
    session.permit(asked.permission_id, "once")
    session.until(session.replies)
    assert file.read_text() == "hello\nthere\n"
    (ref,) = [part for part in session.items("tool_result")[-1].content if isinstance(part, FileRefPart)]
    assert ref.path == str(file)
    assert (ref.diff or "").splitlines()[2:] == ["@@ -1,2 +1,2 @@", " hello", "-world", "+there"]
    assert session.statuses("file_edited")


def test_accept_edits_edits_unasked_and_asks_before_commands(session: OpencodeSession) -> None:
    file = session.workspace / "accepted.txt"
    session.model.script.add(call("write", {"filePath": str(file), "content": "new\n"}), run("echo x"), say("Done."))
    session.create(permissionMode="acceptEdits").send("Write and run")
    asked = session.next(PermissionRequested)
    assert asked.action == "bash"
    assert file.read_text() == "new\n"
    session.permit(asked.permission_id, "once")
    session.until(session.replies)
    assert len(session.all(PermissionRequested)) == 1


def test_plan_mode_changes_no_file(session: OpencodeSession) -> None:
    file = session.workspace / "unwritten.txt"
    session.model.script.add(call("write", {"filePath": str(file), "content": "new\n"}), say("I may not."))
    session.create(permissionMode="plan").turn("Write it")
    assert not file.exists()
    assert session.items("tool_result")[0].status == "failed"
    assert session.all(PermissionRequested) == []


def test_a_change_to_bypass_holds_from_the_next_ask_on(session: OpencodeSession) -> None:
    session.model.script.add(run("echo first"), say("One."), run("echo second"), say("Two."))
    session.create().send("Run it")
    session.permit(session.next(PermissionRequested).permission_id, "once")
    session.until(session.replies)
    session.change(permissionMode="bypass")
    session.turn("Again")
    assert session.replies() == ["One.", "Two."]
    assert len(session.all(PermissionRequested)) == 1


def test_questions_are_answered_with_labels_several_and_own_words(session: OpencodeSession) -> None:
    session.model.script.add(call("question", {"questions": QUESTIONS}), say("Thanks."))
    session.create().send("Ask me")
    asked = session.next(QuestionRequested)
    assert [question.multi_select for question in asked.questions] == [False, True]
    assert asked.questions[0].options[1].description == "A server"
    session.answer(asked.question_id, ["Postgres"], ["Auth", "my own words"])
    session.until(session.replies)
    assert session.next(QuestionResolved).answers == [["Postgres"], ["Auth", "my own words"]]
    assert "Auth, my own words" in outputs(session)[0]


def test_a_rejected_question_ends_the_turn(session: OpencodeSession) -> None:
    session.model.script.add(call("question", {"questions": QUESTIONS}), say("Unreached."))
    session.create().send("Ask me")
    session.reject(session.next(QuestionRequested).question_id)
    session.until(lambda: session.info()["status"] == "idle")
    assert session.next(QuestionResolved).status == "rejected"
    assert session.items("tool_result")[0].status == "failed"
    assert session.replies() == []


def test_a_permission_of_opencodes_own_settings_is_not_asked_for(alone: OpencodeSession) -> None:
    alone.extra = {"permission": {"bash": {"echo *": "allow", "rm *": "deny"}}}
    alone.model.script.add(run("echo allowed"), run("rm -f denied"), run("touch asked"), say("Done."))
    alone.create().send("Run all")
    asked = alone.next(PermissionRequested)
    assert asked.input == {"command": "touch asked"}
    assert [result.status for result in alone.items("tool_result")] == ["completed", "failed"]
    alone.permit(asked.permission_id, "once")
    alone.until(alone.replies)
