"""Calls that list and answer asks."""

from collections.abc import Sequence

from everyagent.client.call import ApiCall, ApiResponse, decoded, get, nothing, params, path, post
from everyagent.model.asks import Answer, PermissionAnswer, PermissionReply, QuestionAnswer, ToolAnswer
from everyagent.model.responses import AskList
from everyagent.model.sessions import AskInfo

_asks = decoded(AskList)


def asks(session_id: str | None = None, *, pending: bool = True) -> ApiCall[list[AskInfo]]:
    """The asks of one session, or of all sessions."""
    where = path("asks") if session_id is None else path("sessions", session_id, "asks")
    return get(where, _ask_list, params(pending=pending))


def answer(session_id: str, ask_id: str, answer: Answer) -> ApiCall[None]:
    """Answer an ask of any kind. A second answer is an `ApiError` with code `ask_closed`."""
    match answer:
        case PermissionAnswer():
            return reply_permission(session_id, ask_id, answer.reply, message=answer.message)
        case QuestionAnswer(answers=None):
            return reject_question(session_id, ask_id, message=answer.message)
        case QuestionAnswer():
            return reply_question(session_id, ask_id, answer.answers or [])
        case ToolAnswer():
            return reply_tool(session_id, ask_id, answer.output or "", is_error=answer.is_error)
        case _:  # pyright: ignore[reportUnnecessaryComparison] - a function of the caller may return anything
            raise TypeError(
                f"An answer is PermissionAnswer(reply='once'), QuestionAnswer(answers=[['label']]) or "
                f"ToolAnswer(output='text') of everyagent.model.asks, not {_shown(answer)}. Nothing was sent."
            )


def reply_permission(
    session_id: str, permission_id: str, reply: PermissionReply, *, message: str | None = None
) -> ApiCall[None]:
    """`message` is the reason that the agent gets with a `reject`."""
    body = {"reply": reply} if message is None else {"reply": reply, "message": message}
    return post(path("sessions", session_id, "permissions", permission_id, "reply"), nothing, body)


def reply_question(session_id: str, question_id: str, answers: Sequence[Sequence[str]]) -> ApiCall[None]:
    """`answers` has one list of labels or free texts per question, in order."""
    return post(path("sessions", session_id, "questions", question_id, "reply"), nothing, {"answers": answers})


def reject_question(session_id: str, question_id: str, *, message: str | None = None) -> ApiCall[None]:
    """Refuse to answer. `message` is the reason that the agent gets."""
    body = {} if message is None else {"message": message}
    return post(path("sessions", session_id, "questions", question_id, "reject"), nothing, body)


def reply_tool(session_id: str, tool_id: str, output: str, *, is_error: bool = False) -> ApiCall[None]:
    """Return the output of a custom tool to the agent."""
    body = {"output": output, "isError": is_error}
    return post(path("sessions", session_id, "tools", tool_id, "reply"), nothing, body)


def _shown(answer: object) -> str:
    return f"{repr(answer)[:50]} ({type(answer).__name__})"


def _ask_list(response: ApiResponse) -> list[AskInfo]:
    return _asks(response).asks
