"""Translates an agent's asks into requests to an editor, and the editor's answers back. Pure."""

from collections.abc import Sequence

from everyagent.cli.acp.tool_calls import described, text_content
from everyagent.cli.acp.wire import FormOutcome, Outcome
from everyagent.model.asks import PermissionAnswer, PermissionReply, Question, QuestionAnswer
from everyagent.model.events import PermissionRequested, QuestionRequested

_REPLIES: dict[PermissionReply, tuple[str, str]] = {
    "once": ("Allow", "allow_once"),
    "always": ("Always allow", "allow_always"),
    "reject": ("Reject", "reject_once"),
}
_NONE = "reject"


def permission_request(session: str, ask: PermissionRequested) -> dict[str, object]:
    call = {"toolCallId": ask.item_id or ask.permission_id, "status": "pending"}
    offered = [
        {"optionId": reply, "name": name, "kind": kind}
        for reply, (name, kind) in _REPLIES.items()
        if not ask.options or reply in ask.options
    ]
    return {
        "sessionId": session,
        "toolCall": {**call, **described(ask.tool or ask.action, ask.input)},
        "options": offered,
    }


def permission_answer(outcome: Outcome) -> PermissionAnswer | None:
    """None if the user cancelled the turn instead."""
    if outcome.outcome != "selected":
        return None
    match outcome.option_id:
        case "once" | "always" as reply:
            return PermissionAnswer(reply=reply)
        case _:
            return PermissionAnswer(reply="reject")


def questions_of(ask: QuestionRequested) -> list[Question]:
    return ask.questions or [Question(prompt=ask.prompt)]


def form_request(session: str, ask: QuestionRequested) -> dict[str, object]:
    """All questions as one form."""
    questions = questions_of(ask)
    fields = {_field(index): _property(question) for index, question in enumerate(questions)}
    scope: dict[str, object] = {"toolCallId": ask.item_id} if ask.item_id else {}
    return {
        "sessionId": session,
        **scope,
        "mode": "form",
        "message": "\n".join(question.prompt for question in questions),
        "requestedSchema": {"type": "object", "properties": fields, "required": list(fields)},
    }


def form_answer(ask: QuestionRequested, outcome: FormOutcome) -> QuestionAnswer | None:
    """None if the user cancelled the turn instead."""
    if outcome.action == "cancel":
        return None
    if outcome.action != "accept" or outcome.content is None:
        return QuestionAnswer(answers=None)
    values = [outcome.content.get(_field(index)) for index in range(len(questions_of(ask)))]
    return QuestionAnswer(answers=[_words(value) for value in values])


def choice_request(session: str, ask: QuestionRequested, question: Question) -> dict[str, object]:
    """One question as a permission, for an editor without forms: each option allows it once."""
    offered = [
        {"optionId": str(index), "name": option.label, "kind": "allow_once"}
        for index, option in enumerate(question.options)
    ]
    call = {
        "toolCallId": ask.question_id,
        "title": question.header or question.prompt,
        "kind": "other",
        "status": "pending",
        "content": [text_content(question.prompt)],
    }
    skip = {"optionId": _NONE, "name": "Do not answer", "kind": "reject_once"}
    return {"sessionId": session, "toolCall": call, "options": [*offered, skip]}


def chosen(question: Question, outcome: Outcome) -> str | None:
    """The label of the chosen option; None if the user did not answer."""
    labels = {str(index): option.label for index, option in enumerate(question.options)}
    return labels.get(outcome.option_id) if outcome.outcome == "selected" else None


def _field(index: int) -> str:
    return f"question_{index + 1}"


def _property(question: Question) -> dict[str, object]:
    titles: dict[str, object] = {"title": question.header or question.prompt, "description": question.prompt}
    choices = [{"const": option.label, "title": option.label} for option in question.options]
    if not choices:
        return {"type": "string", **titles}
    if question.multi_select:
        return {"type": "array", **titles, "items": {"anyOf": choices}}
    return {"type": "string", **titles, "oneOf": choices}


def _words(value: str | int | float | bool | Sequence[str] | None) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else [str(value)] if isinstance(value, int | float) else list(value)
