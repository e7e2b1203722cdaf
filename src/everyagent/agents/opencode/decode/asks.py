"""OpenCode's asks of its user (permissions, questions) and the answers to them. Pure."""

from typing import Literal, TypeAlias

from msgspec import Struct

from everyagent.agents.forms import requested
from everyagent.agents.opencode.decode.calls import OpencodeCall
from everyagent.agents.opencode.protocol.wire import AskSettled, PermissionAsked, QuestionAsked, QuestionInfo
from everyagent.errors import AgentFailed
from everyagent.model.asks import Answer, PermissionAnswer, PermissionReply, Question, QuestionAnswer, QuestionOption
from everyagent.model.events import PermissionRequested, PermissionResolved, QuestionRequested, QuestionResolved
from everyagent.model.parts import Json

AskKind: TypeAlias = Literal["permission", "question"]
_OTHER = "OpenCode settled it with the answer to another."
_WITHDRAWN = "OpenCode went on without an answer."
_REPLIES: dict[str, PermissionReply] = {"once": "once", "always": "always"}


class AskReply(Struct, frozen=True):
    """An answer as a request to OpenCode's server."""

    path: str
    body: object


def permission(asked: PermissionAsked, call: OpencodeCall | None) -> PermissionRequested:
    """The input is OpenCode's description of the call; if it has none, as for MCP tools, that of the call itself."""
    facts: dict[str, Json] = {"patterns": list(asked.patterns)} if asked.patterns else {}
    if call and call.tool.server:
        facts["mcp_server"] = call.tool.server
    return PermissionRequested(
        permission_id=asked.id,
        action=asked.permission,
        status="requested",
        metadata=facts or None,
        tool=call.tool.name if call else asked.permission,
        input=asked.metadata or (call and call.input) or {"patterns": list(asked.patterns)},
        options=["once", "always", "reject"],
        suggestions=[{"always": list(asked.always)}] if asked.always else [],
        item_id=call.part.id if call else None,
    )


def question(asked: QuestionAsked, item: str | None) -> QuestionRequested:
    questions = [_question(each) for each in asked.questions]
    return requested(asked.id, questions, item)


def _question(asked: QuestionInfo) -> Question:
    return Question(
        prompt=asked.question,
        header=asked.header,
        options=[QuestionOption(label=option.label, description=option.description) for option in asked.options],
        multi_select=asked.multiple,
    )


def settled(kind: AskKind, replied: AskSettled) -> PermissionResolved | QuestionResolved:
    """No client answered it: the answer to another ask settled this one, too."""
    if kind == "question":
        return _answered(replied.request, replied.answers, _OTHER)
    reply = _REPLIES.get(replied.reply, "reject")
    return PermissionResolved(
        permission_id=replied.request,
        action="",
        status="denied" if reply == "reject" else "approved",
        reply=reply,
        message=_OTHER,
    )


def withdrawn(kind: AskKind, key: str) -> PermissionResolved | QuestionResolved:
    if kind == "question":
        return _answered(key, None, _WITHDRAWN)
    return PermissionResolved(permission_id=key, action="", status="denied", reply="reject", message=_WITHDRAWN)


def _answered(key: str, answers: list[list[str]] | None, message: str) -> QuestionResolved:
    return QuestionResolved(
        question_id=key,
        prompt="",
        options=[],
        status="rejected" if answers is None else "answered",
        answers=answers,
        response=", ".join(answers[0]) if answers else None,
        message=message,
    )


def response(kind: AskKind, key: str, answer: Answer) -> AskReply:
    match kind, answer:
        case "permission", PermissionAnswer():
            body = {"reply": answer.reply, **({"message": answer.message} if answer.message else {})}
            return AskReply(f"/permission/{key}/reply", body)
        case "question", QuestionAnswer(answers=None):
            return AskReply(f"/question/{key}/reject", None)
        case "question", QuestionAnswer():
            return AskReply(f"/question/{key}/reply", {"answers": answer.answers})
        case _:
            raise AgentFailed("The answer does not fit the type of the ask, so it was not sent to the agent.")
