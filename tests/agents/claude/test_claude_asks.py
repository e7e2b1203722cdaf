"""Permissions, questions, plans and forms of the real Claude Code."""

import sys
from pathlib import Path

from claude_stage import ClaudeSession
from tests.scripted.messages_replies import call, calls, say

from everyagent.agents.claude.asks import APPROVE_EDITS
from everyagent.model.events import (
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    SessionUpdated,
    TurnEnded,
)
from everyagent.model.parts import ToolResultPart

TOUCH = {"command": "touch made.txt", "description": "make a file"}


def output(session: ClaudeSession) -> str:
    parts = [part for item in session.items("tool_result") for part in item.content]
    return "\n".join(part.output for part in parts if isinstance(part, ToolResultPart))


def test_a_permission_given_once_lets_the_tool_run(session: ClaudeSession) -> None:
    session.model.script.add(call("Bash", TOUCH), say("Made."))
    session.create().send("Make it")
    asked = session.next(PermissionRequested)
    assert asked.tool == "Bash"
    assert asked.input == TOUCH
    assert asked.suggestions
    assert asked.item_id == session.items("tool_call")[0].item_id
    assert session.info()["status"] == "waiting"
    session.permit(asked.permission_id, "once")
    session.until(lambda: session.replies() == ["Made."])
    assert (session.workspace / "made.txt").exists()


def test_always_returns_the_suggestions_and_the_tool_is_not_asked_for_again(session: ClaudeSession) -> None:
    build = {"command": "npm run build", "description": "build"}
    session.model.script.add(call("Bash", build), call("Bash", build), say("Built twice."))
    session.create().send("Build it twice")
    session.permit(session.next(PermissionRequested).permission_id, "always")
    session.until(lambda: session.replies() == ["Built twice."])
    assert len(session.all(PermissionRequested)) == 1


def test_the_reason_of_a_rejection_reaches_the_model_and_the_turn_continues(session: ClaudeSession) -> None:
    session.model.script.add(call("Bash", TOUCH), say("Then not."))
    session.create().send("Make it")
    session.permit(session.next(PermissionRequested).permission_id, "reject", "Not in this folder")
    session.until(lambda: session.replies() == ["Then not."])
    assert "Not in this folder" in output(session)
    assert "Not in this folder" in session.model.requests[-1].new_text
    assert not (session.workspace / "made.txt").exists()


def test_concurrent_permissions_are_answered_separately(session: ClaudeSession) -> None:
    paths = [str(session.workspace / name) for name in ("one.txt", "two.txt")]
    session.model.script.add(
        calls(*[("Write", {"file_path": path, "content": "x"}) for path in paths]), say("One of two.")
    )
    session.create().send("Write both")
    session.permit(session.next(PermissionRequested, 1).permission_id, "once")
    session.permit(session.next(PermissionRequested, 2).permission_id, "reject")
    session.until(lambda: session.replies() == ["One of two."])
    assert [Path(path).exists() for path in paths] == [True, False]
    assert [each.status for each in session.all(PermissionResolved)] == ["approved", "denied"]


QUESTIONS = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [{"label": "SQLite", "description": "a file"}, {"label": "Postgres", "description": "a server"}],
            "multiSelect": False,
        },
        {
            "question": "Which extras?",
            "header": "Extras",
            "options": [{"label": "Cache", "description": "fast"}, {"label": "Queue", "description": "later"}],
            "multiSelect": True,
        },
    ]
}


def test_questions_are_answered_by_label_by_several_and_in_free_text(session: ClaudeSession) -> None:
    session.model.script.add(call("AskUserQuestion", QUESTIONS), say("As you like."))
    session.create().send("Set it up")
    asked = session.next(QuestionRequested)
    assert [question.header for question in asked.questions] == ["Database", "Extras"]
    assert [question.multi_select for question in asked.questions] == [False, True]
    session.answer(asked.question_id, ["a plain text file"], ["Cache", "Queue"])
    session.until(lambda: session.replies() == ["As you like."])
    assert '"Which database?"="a plain text file"' in output(session)
    assert '"Which extras?"="Cache, Queue"' in output(session)


def test_a_rejected_question_is_declined(session: ClaudeSession) -> None:
    session.model.script.add(call("AskUserQuestion", QUESTIONS), say("Then I choose."))
    session.create().send("Set it up")
    session.reject(session.next(QuestionRequested).question_id)
    session.until(lambda: session.replies() == ["Then I choose."])
    assert session.items("tool_result")[0].status == "failed"


PLAN = {"plan": "# Plan\n1. Write x.txt"}


def test_an_approved_plan_leaves_plan_mode(session: ClaudeSession) -> None:
    path = session.workspace / "x.txt"
    session.model.script.add(
        call("ExitPlanMode", PLAN), call("Write", {"file_path": str(path), "content": "x"}), say("Carried out.")
    )
    session.create(permissionMode="plan").send("Plan it")
    asked = session.next(QuestionRequested)
    assert "1. Write x.txt" in asked.prompt
    assert APPROVE_EDITS in asked.options
    session.answer(asked.question_id, [APPROVE_EDITS])
    session.until(lambda: session.replies() == ["Carried out."])
    assert path.read_text() == "x"
    assert "acceptEdits" in [each.permission_mode for each in session.all(SessionUpdated)]
    assert session.info()["permissionMode"] == "acceptEdits"


def test_a_later_session_update_does_not_restore_plan_mode(session: ClaudeSession) -> None:
    path = str(session.workspace / "y.txt")
    session.model.script.add(
        call("ExitPlanMode", PLAN), say("Approved."), call("Write", {"file_path": path, "content": "y"}), say("Done.")
    )
    session.create(permissionMode="plan").send("Plan it")
    session.answer(session.next(QuestionRequested).question_id, [APPROVE_EDITS])
    session.next(TurnEnded)
    session.change(model="sonnet")
    session.turn("Write it")
    assert Path(path).read_text() == "y"
    assert session.info()["permissionMode"] == "acceptEdits"


def test_a_rejected_plan_is_revised(session: ClaudeSession) -> None:
    session.model.script.add(call("ExitPlanMode", PLAN), say("I plan again."))
    session.create(agentMode="plan").send("Plan it")
    session.answer(session.next(QuestionRequested).question_id, ["Leave x.txt alone"])
    session.until(lambda: session.replies() == ["I plan again."])
    assert "Leave x.txt alone" in session.model.requests[-1].new_text
    assert session.info()["agentMode"] == "plan"


def test_an_elicitation_of_an_mcp_server_is_a_question(session: ClaudeSession) -> None:
    server = Path(__file__).with_name("asking_mcp_server.py")
    session.model.script.add(call("mcp__calendar__book", {}), say("Booked."))
    session.create(mcp={"calendar": {"type": "local", "command": [sys.executable, str(server)]}}).send("Book it")
    session.permit(session.next(PermissionRequested).permission_id, "once")
    asked = session.next(QuestionRequested)
    assert "Which date?" in asked.prompt
    assert asked.questions[0].options == []
    session.answer(asked.question_id, ["2027-01-01"], ["3"])
    session.until(lambda: session.replies() == ["Booked."])
    assert '"date": "2027-01-01"' in output(session)
    assert '"people": 3' in output(session)
    (tool,) = session.items("tool_call")
    assert tool.content[0].mcp_server == "calendar"  # pyright: ignore[reportAttributeAccessIssue]
    assert tool.name == "book"
