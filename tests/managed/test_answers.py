"""Parsing of clients' answers and of judges' verdicts."""

import pytest

from everyagent.managed.outcomes.verdict import found_in
from everyagent.managed.projection.state import Action
from everyagent.managed.sessions.answers import answer_to, chosen
from everyagent.managed.sessions.client_events import UserCustomToolResult, UserToolConfirmation
from everyagent.model.asks import PermissionAnswer, QuestionAnswer, ToolAnswer

QUESTIONS: list[dict[str, object]] = [{"prompt": "Which?", "header": "Colour"}, {"prompt": "What else?"}]


@pytest.mark.parametrize(
    "text",
    [
        '{"answers": [["Red"], ["Tests", "Docs"]]}',
        '[["Red"], ["Tests", "Docs"]]',
        '["Red", ["Tests", "Docs"]]',
        '{"Which?": "Red", "What else?": ["Tests", "Docs"]}',
        '{"answers": {"Colour": ["Red"], "What else?": ["Tests", "Docs"]}}',
    ],
)
def test_questions_are_answered_in_json(text: str) -> None:
    assert chosen(text, QUESTIONS) == [["Red"], ["Tests", "Docs"]]


def test_questions_are_answered_in_plain_text() -> None:
    assert chosen("Red\n\n Tests \n", QUESTIONS) == [["Red"], ["Tests"]]
    assert chosen("As you like", QUESTIONS) == [["As you like"], ["As you like"]]
    assert chosen("one\ntwo\nthree", QUESTIONS[:1]) == [["one\ntwo\nthree"]]
    assert chosen("{broken", []) == [["{broken"]]


def test_an_answer_is_of_the_kind_that_was_asked_for() -> None:
    confirmation = Action(ask_id="a", kind="confirmation", name="bash", input={"command": "ls"})
    allow = UserToolConfirmation(tool_use_id="x", result="allow")
    deny = UserToolConfirmation(tool_use_id="x", result="deny", deny_message="No.")
    assert answer_to(confirmation, allow) == PermissionAnswer(reply="once")
    assert answer_to(confirmation, deny) == PermissionAnswer(reply="reject", message="No.")
    question = Action(ask_id="q", kind="question", name="ask_user_question", input={"questions": [*QUESTIONS]})
    failed = UserCustomToolResult(custom_tool_use_id="x", is_error=True)
    assert answer_to(question, failed) == QuestionAnswer(answers=None)
    custom = Action(ask_id="c", kind="custom", name="weather", input={})
    assert answer_to(custom, failed) == ToolAnswer(output="", is_error=True)


def test_the_last_verdict_counts() -> None:
    said = 'Like {"result": "failed"}? No: ```{"result": "satisfied", "explanation": "All {there}."}```'
    assert found_in(said) == ("satisfied", "All {there}.")
    assert found_in('{"result": "perfect"}')[0] == "failed"
    assert found_in("no idea")[0] == "failed"
    assert found_in("{" * 1000)[0] == "failed"
