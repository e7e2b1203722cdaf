"""`everyagent sessions answer`."""

from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.exits import Exit, Failure
from everyagent.cli.screen import print_json, say
from everyagent.cli.target import HERE, Target
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer, ToolAnswer
from everyagent.model.sessions import AskInfo

REPLIES = ("once", "always", "reject")


def answer(
    session: str,
    ask: str,
    /,
    *answers: str,
    reject: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    message: str | None = None,
    target: Target = HERE,
) -> None:
    """Answer what its agent asks.

    Parameters
    ----------
    session
        Its id.
    ask
        The ask's id; `sessions show` names it.
    answers
        For a permission: once, always or reject. For questions: one for each, several choices separated by "|".
        For a custom tool: its output.
    reject
        Say no.
    message
        Why, when it is a no.
    """
    with target.client() as client:
        known = {info.ask_id: info for info in client.asks(session, pending=False)}
        if ask not in known:
            raise Failure(f"Session {session} has no ask {ask}. `sessions show {session}` lists them.", Exit.NOT_FOUND)
        client.answer(session, ask, to_answer(known[ask], answers, reject, message))
    if target.json:
        print_json({"askId": ask, "answered": True})
    else:
        say(f"Answered {ask}.")


def to_answer(ask: AskInfo, words: tuple[str, ...], reject: bool, message: str | None) -> Answer:
    match ask.kind:
        case "permission":
            reply = "reject" if reject else "".join(words)
            if reply not in REPLIES:
                raise Failure(f"A permission is answered with one of: {', '.join(REPLIES)}.", Exit.USAGE)
            return PermissionAnswer(reply=reply, message=message)
        case "question":
            if not words and not reject:
                raise Failure("Give one answer for each question, or --reject.", Exit.USAGE)
            answers = None if reject else [word.split("|") for word in words]
            return QuestionAnswer(answers=answers, message=message)
        case "tool":
            return ToolAnswer(output=message or "" if reject else " ".join(words), is_error=reject)
