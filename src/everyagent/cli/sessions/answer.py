"""`everyagent sessions answer`: answers an ask of an agent."""

from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.cli.output import print_json, say
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
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Answer an ask of a session's agent.

    Parameters
    ----------
    session
        The session's id.
    ask
        The ask's id, as printed by `sessions show`.
    answers
        For a permission: once, always or reject. For questions: one answer per question, several choices separated
        by "|". For a custom tool: its output.
    reject
        Reject the request.
    message
        The reason for a rejection.
    """
    with options.client() as client:
        known = {info.ask_id: info for info in client.asks(session, pending=False)}
        if ask not in known:
            raise CliFailure(
                f"Session {session} has no ask {ask}. `sessions show {session}` lists them.", ExitCode.NOT_FOUND
            )
        client.answer(session, ask, to_answer(known[ask], answers, reject, message))
    if options.json:
        print_json({"askId": ask, "answered": True})
    else:
        say(f"Answered {ask}.")


def to_answer(ask: AskInfo, words: tuple[str, ...], reject: bool, message: str | None) -> Answer:
    match ask.kind:
        case "permission":
            reply = "reject" if reject else "".join(words)
            if reply not in REPLIES:
                raise CliFailure(f"A permission is answered with one of: {', '.join(REPLIES)}.", ExitCode.USAGE)
            return PermissionAnswer(reply=reply, message=message)
        case "question":
            if not words and not reject:
                raise CliFailure("Give one answer for each question, or --reject.", ExitCode.USAGE)
            answers = None if reject else [word.split("|") for word in words]
            return QuestionAnswer(answers=answers, message=message)
        case "tool":
            return ToolAnswer(output=message or "" if reject else " ".join(words), is_error=reject)
