"""Decides when a session ends without being terminated: by its lifetime, or because its agent can never go on."""

from everyagent.agents.adapter import Death
from everyagent.errors import AgentNotInstalled
from everyagent.model.events import EventSource, SessionEnded, TurnEnded
from everyagent.model.sessions import Lifetime

#: An agent that dies so many times in a row before any output is given up.
MAX_SILENT_DEATHS = 5


def after_turn(lifetime: Lifetime, turn: TurnEnded, by: EventSource, death: Death | None = None) -> SessionEnded | None:
    """The end of a session whose turn has ended; None if it goes on. `by` is who ended the turn."""
    if lifetime != "turn":
        return None
    match turn.stop_reason:
        case "error":
            return failed(turn.error or "The turn failed.", by, death)
        case "interrupted" | "budget" | "terminated":
            return SessionEnded(reason="terminated", terminated_by="daemon")
        case _:
            return SessionEnded(reason="completed", terminated_by="agent")


def after_death(lifetime: Lifetime, death: Death, how: str, *, silent: int, resumable: bool) -> SessionEnded | None:
    """The end of a session whose agent's process has ended; None if it goes on. `how` is a sentence.

    `silent` is the number of deaths in a row before any output; `resumable`: there is a native session to resume.
    """
    if lifetime == "process":
        if death.expected:
            return SessionEnded(reason="terminated", terminated_by="daemon")
        return (
            SessionEnded(reason="completed", terminated_by="agent")
            if death.exit_code == 0
            else failed(how, "agent", death)
        )
    if silent >= MAX_SILENT_DEATHS:
        return failed(f"{how} It died {silent} times in a row before any output.", "agent", death)
    if death.history_lost and not resumable:
        return failed(f"{how} Its history is lost and it did not accept the transcript.", "agent", death)
    return None


def after_daemon(lifetime: Lifetime) -> SessionEnded | None:
    """The end of a session whose agent's process ended with the daemon; None if it goes on."""
    return SessionEnded(reason="terminated", terminated_by="daemon") if lifetime == "process" else None


def without_process(lifetime: Lifetime, error: Exception, *, had_agent: bool) -> SessionEnded | None:
    """The end of a session whose agent did not start. An open one ends if the program it had is gone."""
    gone = isinstance(error, AgentNotInstalled) and had_agent
    return failed(str(error), "agent") if lifetime == "process" or gone else None


def failed(message: str, by: EventSource, death: Death | None = None) -> SessionEnded:
    return SessionEnded(
        reason="error",
        terminated_by=by,
        message=message,
        exit_code=death.exit_code if death else None,
        stderr=death.stderr if death else None,
    )
