"""The events that end a turn after a failure: of the agent, of the daemon, of a commit, of a start."""

from everyagent.agents.adapter import Death
from everyagent.errors import AgentNotInstalled, AgentNotLoggedIn, TooManyAgents
from everyagent.model.events import Error, Retry
from everyagent.sessions.machine.active_turn import ActiveTurn
from everyagent.sessions.machine.sequencer import Emission, Sequencer


def how(death: Death) -> str:
    """One sentence about the way in which the agent died."""
    if death.message:
        return death.message if death.message.endswith((".", "!", "?")) else f"{death.message}."
    if death.signal:
        return f"The agent's process was ended by {death.signal}."
    return f"The agent's process ended with exit code {death.exit_code}."


def cancelled(sequencer: Sequencer, turn: ActiveTurn) -> list[Emission]:
    """The turn was stopped by a client, or by the daemon for an error or a budget."""
    if turn.failure:
        return sequencer.end_turn("error", turn.failure, error=turn.failure)
    return sequencer.end_turn(turn.stop_reason, "The turn was cancelled.")


def death(sequencer: Sequencer, death: Death, turn: ActiveTurn | None, *, final: bool = False) -> list[Emission]:
    """The agent is gone; everything that it left open is closed. `final`: the session ends with it."""
    if turn and turn.cancelled:
        return cancelled(sequencer, turn)
    if death.expected:
        return sequencer.end_turn("interrupted", "The agent was stopped.")
    message = how(death)
    code = death.code or "agent_crashed"
    if final and not sequencer.turn_id:  # `session.ended` says it all
        return sequencer.close(message)
    advice = "The session ends with it." if final else "The next message resumes the session."
    error = Error(message=f"{message} {advice}", code=code, exit_code=death.exit_code, stderr=death.stderr)
    return [Emission(error, True), *sequencer.end_turn("error", message, error=message)]


def retrying(death: Death, attempt: int, most: int, delay: float) -> Error:
    """The agent died before any output, so the same message is sent to a new one."""
    return Error(
        message=f"{how(death)} It had not sent any output yet, so it is started again.",
        code=death.code or "agent_crashed",
        exit_code=death.exit_code,
        stderr=death.stderr,
        retry=Retry(attempt=attempt, max=most, delay_ms=round(delay * 1000)),
    )


def history_lost() -> Error:
    return Error(
        message=(
            "The agent no longer has its own history of this session. "
            "It goes on with a fresh one that is given the transcript instead."
        ),
        code="internal",
        details={"history_lost": True},
    )


def failure(error: Exception) -> Error:
    match error:
        case TimeoutError():
            code = "timeout"
        case AgentNotLoggedIn():
            code = "auth"
        case AgentNotInstalled():
            code = "agent_not_installed"
        case TooManyAgents():
            code = "limit_exceeded"
        case _:
            code = "agent_crashed"
    return Error(message=str(error) or "The agent did not answer in time.", code=code)


def not_started(sequencer: Sequencer, error: Exception, turn: ActiveTurn) -> list[Emission]:
    """The agent never took the turn, perhaps because it was ended to cancel it."""
    if turn.cancelled:
        return cancelled(sequencer, turn)
    failed = failure(error)
    return [
        Emission(failed, True),
        *sequencer.end_turn("error", "The agent did not take the turn.", error=failed.message),
    ]


def restarted(sequencer: Sequencer, *, park: bool) -> list[Emission]:
    """The daemon died while a turn ran, and the agent with it. With `park` its asks stay open."""
    if not sequencer.turn_id:
        return sequencer.close("The daemon was restarted.")
    message = "The daemon was restarted while this turn ran, so the turn was cut. The next message resumes the session."
    return [
        Emission(Error(message=message, code="internal", details={"daemon_restarted": True}), True),
        *sequencer.end_turn(
            "error", "The daemon was restarted.", error="The daemon was restarted while this turn ran.", park=park
        ),
    ]


def commit_failed(sequencer: Sequencer, detail: str, *, park: bool) -> list[Emission]:
    """The log did not take the session's events, so the session was loaded again from the log."""
    why = "The session's events could not be written to the log."
    message = (
        f"{why} Its agent was ended, and what it did since is lost. The next message resumes the session. ({detail})"
    )
    error = Error(message=message, code="internal", details={"commit_failed": True})
    return [Emission(error, True), *sequencer.end_turn("error", why, error=why, park=park)]
