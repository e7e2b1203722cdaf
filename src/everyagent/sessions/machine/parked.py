"""Parked asks: their agent ended with its daemon. They stay open, and a turn gives the next agent the answers."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from everyagent.log.log import SessionRecord
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer, ToolAnswer
from everyagent.model.events import PermissionRequested, QuestionRequested, ToolRequested
from everyagent.model.ids import new_id
from everyagent.model.sessions import Attachment, SendMessage
from everyagent.sessions.launch.config import AnsweredIds, config_of
from everyagent.sessions.machine.asks import Request, ask_id_of
from everyagent.sessions.machine.messages import InputMessage

#: The name of the user message that gives an agent the answers to parked asks.
RESUMPTION = "resumption"
_RESUMED = "You were interrupted while you waited for this. Here is what came of it; go on with your work.\n\n"


class AnsweredAsk(NamedTuple):
    request: Request
    answer: Answer


class Answered(NamedTuple):
    """Answers to parked asks. `undelivered`: the agent does not have them yet, because other asks are still open.

    `granted`: the turn that was begun with these answers may make the same calls without asking.
    """

    undelivered: tuple[AnsweredAsk, ...] = ()
    granted: tuple[AnsweredAsk, ...] = ()

    def add(self, request: Request, answer: Answer) -> "Answered":
        answered = AnsweredAsk(request, answer)
        allowed = isinstance(answer, PermissionAnswer) and answer.reply != "reject"
        return Answered((*self.undelivered, answered), (*self.granted, answered) if allowed else self.granted)

    def delivered(self) -> "Answered":
        return Answered(granted=self.granted)

    def grant_for(self, request: Request) -> Answer | None:
        """The answer to the same call before."""
        if not isinstance(request, PermissionRequested):
            return None
        call = _call_of(request)
        return next((answer for asked, answer in self.granted if _call_of(asked) == call), None)

    def resumption(self) -> InputMessage:
        """The message that gives the agent all answers."""
        notes = "\n\n".join(_note(request, answer) for request, answer in self.undelivered)
        images = [image for _, answer in self.undelivered if isinstance(answer, ToolAnswer) for image in answer.images]
        attachments = [Attachment(data=image.data, mime=image.mime) for image in images]
        message = SendMessage(message=_RESUMED + notes, attachments=attachments)
        return InputMessage(item_id=new_id("itm_"), message=message, name=RESUMPTION)

    def stored_in(self, record: SessionRecord) -> bytes:
        """The configuration of a session that keeps these answers."""
        ids = AnsweredIds(undelivered=_ids(self.undelivered), granted=_ids(self.granted))
        return msgspec.json.encode(replace(config_of(record), answered=ids))


NONE_ANSWERED = Answered()


def _ids(answered: Sequence[AnsweredAsk]) -> list[str]:
    return [ask_id_of(request) for request, _ in answered]


def _call_of(request: Request) -> tuple[str, bytes]:
    match request:
        case PermissionRequested():
            name, given = request.tool or request.action, request.input
        case QuestionRequested():
            name, given = "question", msgspec.to_builtins(request.questions) or request.prompt
        case ToolRequested():
            name, given = request.name, request.input
    return name, msgspec.json.encode(given)


def _note(request: Request, answer: Answer) -> str:
    name, given = _call_of(request)
    call = f"{name}({given.decode()})"
    match answer:
        case PermissionAnswer(reply="reject"):
            why = f" They said: {answer.message}" if answer.message else ""
            return f"The user did not allow {call}.{why}"
        case PermissionAnswer():
            return f"The user allowed {call}. It has not run yet: run it now, just like this."
        case QuestionAnswer(answers=None):
            return f"The user did not want to answer {call}."
        case QuestionAnswer():
            return f"The user answered {call}: {msgspec.json.encode(answer.answers).decode()}"
        case ToolAnswer():
            how = "failed with" if answer.is_error else "returned"
            return f"{call} {how}: {answer.output or ''}"
