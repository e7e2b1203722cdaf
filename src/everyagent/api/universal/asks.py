"""Routes that list and answer asks."""

from typing import Annotated

from msgspec import Meta, Struct

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import AgentFailed, AskClosed, AskNotFound, SessionNotFound, StorageFull
from everyagent.model.asks import PermissionAnswer, PermissionReply, QuestionAnswer, ToolAnswer
from everyagent.model.responses import AskList

routes = Routes("asks")
_ERRORS = (SessionNotFound, AskNotFound, AskClosed, AgentFailed, StorageFull)


class AsksQuery(Struct, frozen=True):
    pending: Annotated[bool, Meta(description="Only asks that wait for an answer.")] = True


class ReplyToPermission(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`message` is the reason that the agent gets with a `reject`."""

    reply: PermissionReply
    message: str | None = None


class ReplyToQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The chosen labels or free texts for each question, in order. Questions without one are left unanswered."""

    answers: list[list[str]]


class RejectQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    message: str | None = None


class ReplyToTool(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The output of the custom tool."""

    output: str
    is_error: bool = False


@routes.add("GET", "/v1/asks")
async def list_all_asks(call: Call[AsksQuery, Nothing]) -> AskList:
    """List the asks of all sessions."""
    return AskList(asks=await call.sessions.asks(None, pending=call.query.pending))


@routes.add("GET", "/v1/sessions/{session_id}/asks", SessionNotFound)
async def list_asks(call: Call[AsksQuery, Nothing]) -> AskList:
    """List the asks of a session."""
    return AskList(asks=await call.sessions.asks(call.path["session_id"], pending=call.query.pending))


@routes.add(
    "POST", "/v1/sessions/{session_id}/permissions/{permission_id}/reply", *_ERRORS, effect=True, scope="answer"
)
async def reply_to_permission(call: Call[Nothing, ReplyToPermission]) -> None:
    """Answer a permission request: allow once, allow always, or reject."""
    answer = PermissionAnswer(reply=call.body.reply, message=call.body.message)
    await call.sessions.answer(call.path["session_id"], call.path["permission_id"], answer)


@routes.add("POST", "/v1/sessions/{session_id}/questions/{question_id}/reply", *_ERRORS, effect=True, scope="answer")
async def reply_to_question(call: Call[Nothing, ReplyToQuestion]) -> None:
    """Answer an agent's questions."""
    answer = QuestionAnswer(answers=call.body.answers)
    await call.sessions.answer(call.path["session_id"], call.path["question_id"], answer)


@routes.add("POST", "/v1/sessions/{session_id}/questions/{question_id}/reject", *_ERRORS, effect=True, scope="answer")
async def reject_question(call: Call[Nothing, RejectQuestion]) -> None:
    """Reject an agent's questions."""
    answer = QuestionAnswer(answers=None, message=call.body.message)
    await call.sessions.answer(call.path["session_id"], call.path["question_id"], answer)


@routes.add("POST", "/v1/sessions/{session_id}/tools/{tool_id}/reply", *_ERRORS, effect=True, scope="answer")
async def reply_to_tool(call: Call[Nothing, ReplyToTool]) -> None:
    """Return the result of a custom tool that the agent called."""
    answer = ToolAnswer(output=call.body.output, is_error=call.body.is_error)
    await call.sessions.answer(call.path["session_id"], call.path["tool_id"], answer)
