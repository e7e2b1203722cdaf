"""Sessions of the real Claude Code without a person: deadlines of asks, and budgets."""

from claude_stage import ClaudeSession
from tests.scripted.messages_replies import call, say

from everyagent.model.events import PermissionResolved, QuestionResolved, TurnEnded

TOUCH = {"command": "touch made.txt", "description": "make a file"}
CHOICE = {"header": "Colour", "question": "Which colour?", "multiSelect": False}
OPTIONS = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
SOON = {"seconds": 0.5}


def test_a_permission_that_nobody_answers_is_denied_or_allowed(session: ClaudeSession) -> None:
    session.model.script.add(call("Bash", TOUCH), say("Then not."), call("Bash", TOUCH), say("Made."))
    assert session.create(askTimeout=SOON).turn("Make it").stop_reason == "end_turn"
    assert not (session.workspace / "made.txt").exists()
    session.call("PATCH", f"/sessions/{session.id}", {"askTimeout": {**SOON, "permission": "allow"}})
    assert session.turn("Make it now").stop_reason == "end_turn"
    assert (session.workspace / "made.txt").exists()
    assert session.replies() == ["Then not.", "Made."]
    assert len(session.all(PermissionResolved)) == 2


def test_a_question_that_nobody_answers_gets_the_text_of_the_session(session: ClaudeSession) -> None:
    ask = call("AskUserQuestion", {"questions": [{**CHOICE, "options": OPTIONS}]})
    session.model.script.add(ask, say("As you like."))
    assert session.create(askTimeout={**SOON, "question": "Decide yourself"}).turn("Ask me").stop_reason == "end_turn"
    assert "Decide yourself" in session.model.requests[-1].new_text
    assert len(session.all(QuestionResolved)) == 1


def test_a_turn_over_the_budget_is_stopped_and_the_next_one_goes_on(session: ClaudeSession) -> None:
    session.model.script.add(call("Bash", {**TOUCH, "command": "sleep 600"}), say("Never.", when="Wait"))
    session.create(permissionMode="bypass", budgetTokens=1).send("Wait")
    assert session.next(TurnEnded).stop_reason == "budget"
    session.call("POST", f"/sessions/{session.id}/messages", {"message": "More"}, expect=402)
    session.call("PATCH", f"/sessions/{session.id}", {"budgetTokens": None})
    session.model.script.add(say("Here again.", when="More"))
    assert session.turn("More").stop_reason == "end_turn"
    assert "Here again." in session.replies()
