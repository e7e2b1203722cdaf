"""Translates clients' answers to required actions into answers to asks."""

from typing import cast

import msgspec

from everyagent.managed.projection.actions import DENIED
from everyagent.managed.projection.state import Action
from everyagent.managed.sessions.client_events import UserCustomToolResult, UserToolConfirmation, UserToolResult
from everyagent.managed.sessions.prompts import ToolOutput
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer, ToolAnswer


def answer_to(
    action: Action,
    event: UserToolConfirmation | UserCustomToolResult | UserToolResult,
    result: ToolOutput | None = None,
) -> Answer:
    """`result` is that of the event, if it has one."""
    if isinstance(event, UserToolConfirmation) and action.kind == "result":
        why = f" They said: {event.deny_message}" if event.deny_message else ""
        return ToolAnswer(output=f"{DENIED}{why}", is_error=True)
    if isinstance(event, UserToolConfirmation):
        if event.result == "allow":
            return PermissionAnswer(reply="once")
        return PermissionAnswer(reply="reject", message=event.deny_message)
    text, images = result or ToolOutput("")
    if action.kind != "question":
        return ToolAnswer(output=text, is_error=bool(event.is_error), images=list(images))
    if event.is_error:
        return QuestionAnswer(answers=None, message=text or None)
    questions = cast("list[dict[str, object]]", action.input.get("questions") or [])
    return QuestionAnswer(answers=chosen(text, questions))


def chosen(text: str, questions: list[dict[str, object]]) -> list[list[str]]:
    """One list of answers for each question.

    From JSON: a list with an entry for each question, or an object by their prompts or headers, alone or under
    `answers`. From plain text: a line for each question, or the whole text for every one of them.
    """
    count = max(1, len(questions))
    try:
        given: object = msgspec.json.decode(text)
    except msgspec.DecodeError:
        given = None
    if isinstance(given, dict) and "answers" in given:
        given = cast("dict[str, object]", given)["answers"]
    if isinstance(given, dict):
        by_name = cast("dict[str, object]", given)
        return [
            _labels(by_name.get(str(each.get("prompt")), by_name.get(str(each.get("header"))))) for each in questions
        ]
    if isinstance(given, list) and len(cast("list[object]", given)) == count:
        return [_labels(each) for each in cast("list[object]", given)]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [[line] for line in lines] if len(lines) == count else [[text.strip()] for _ in range(count)]


def _labels(value: object) -> list[str]:
    match value:
        case None:
            return []
        case list():
            return [str(each) for each in cast("list[object]", value)]
        case _:
            return [str(value)]
