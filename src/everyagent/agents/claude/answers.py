"""Encodes the user's answers to permissions, questions, plans and forms. Pure; used by `encode.py`."""

from everyagent.agents.claude.asks import (
    APPROVE,
    APPROVE_EDITS,
    KEEP_PLANNING,
    Ask,
    ClaudeFormAsk,
    ClaudePermissionAsk,
    ClaudePlanAsk,
    ClaudeQuestionsAsk,
)
from everyagent.agents.forms import NO, typed
from everyagent.errors import AgentFailed
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer

_DECLINED = "The user declined."
ALLOWED: dict[str, object] = {"behavior": "allow"}
_APPROVALS = {APPROVE_EDITS: "acceptEdits", APPROVE: "default"}


def response(ask: Ask, answer: Answer) -> dict[str, object]:
    """The response to the agent's request."""
    match ask, answer:
        case ClaudePermissionAsk(), PermissionAnswer():
            return _permitted(ask, answer)
        case ClaudeQuestionsAsk(), QuestionAnswer():
            return _answered(ask, answer)
        case ClaudePlanAsk(), QuestionAnswer():
            return _decided(answer)
        case ClaudeFormAsk(), QuestionAnswer():
            return _filled(ask, answer)
        case _:
            raise AgentFailed(
                "The answer does not fit the question, so it was not sent. Answer in the form that was asked for."
            )


def lapsed(ask: Ask) -> dict[str, object]:
    if isinstance(ask, ClaudeFormAsk):
        return {"action": "cancel"}
    return denied("The turn ended before there was an answer.")


def _permitted(ask: ClaudePermissionAsk, answer: PermissionAnswer) -> dict[str, object]:
    match answer.reply:
        case "once":
            return ALLOWED
        case "always" if ask.each_time:
            return ALLOWED
        case "always":
            rule = {
                "type": "addRules",
                "rules": [{"toolName": ask.tool}],
                "behavior": "allow",
                "destination": "session",
            }
            return {"behavior": "allow", "updatedPermissions": ask.suggestions or [rule]}
        case "reject":
            return denied(answer.message)


def _answered(ask: ClaudeQuestionsAsk, answer: QuestionAnswer) -> dict[str, object]:
    if answer.answers is None:
        return denied(answer.message)
    answers = {question: ", ".join(chosen) for question, chosen in zip(ask.questions, answer.answers, strict=False)}
    return {"behavior": "allow", "updatedInput": {**ask.input, "answers": answers}}


def _decided(answer: QuestionAnswer) -> dict[str, object]:
    """Text that is none of the options is feedback on the plan."""
    text = ", ".join(word for chosen in answer.answers or [] for word in chosen)
    mode = _APPROVALS.get(text)
    if mode is None:
        return denied(answer.message if text in ("", KEEP_PLANNING) else text)
    return {
        "behavior": "allow",
        "updatedPermissions": [{"type": "setMode", "mode": mode, "destination": "session"}],
    }


def _filled(ask: ClaudeFormAsk, answer: QuestionAnswer) -> dict[str, object]:
    if answer.answers is None:
        return {"action": "decline"}
    if not ask.fields:
        return {"action": "decline" if answer.answers == [[NO]] else "accept"}
    filled = zip(ask.fields, ask.types, answer.answers, strict=False)
    return {"action": "accept", "content": {name: typed(type, ", ".join(words)) for name, type, words in filled}}


def denied(message: str | None) -> dict[str, object]:
    return {"behavior": "deny", "message": message or _DECLINED}
