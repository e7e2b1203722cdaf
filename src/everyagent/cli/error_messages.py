"""What went wrong, for a person: a sentence, what to do, and an exit code."""

from everyagent.cli.exit_codes import CommandFailed, ExitCode
from everyagent.config import ConfigError
from everyagent.errors import EveryagentError, NotFound

#: Whoever read our output has enough of it, as `head` does: no reason to say anything.
NOBODY_READS = ("", ExitCode.FAILED)


def explain(error: BaseException) -> tuple[str, ExitCode] | None:
    """None: nobody expected this, so the traceback is wanted."""
    from everyagent.client import ApiError, AskPending, ClientError, Unreachable

    match error:
        case BaseExceptionGroup():
            return _explain_group(error)
        case CommandFailed():
            return str(error), error.code
        case BrokenPipeError():
            return NOBODY_READS
        case ConfigError():
            return str(error), ExitCode.USAGE
        case ApiError(status=401):
            return f"{error} Give the right one with --token or EVERYAGENT_TOKEN.", ExitCode.FAILED
        case ApiError(status=404) | ApiError(code="unsupported_agent") | NotFound():
            return str(error), ExitCode.NOT_FOUND
        case Unreachable():
            return str(error), ExitCode.NO_DAEMON
        case AskPending():
            return str(error), ExitCode.WAITING
        case ClientError() | EveryagentError():
            return str(error), ExitCode.FAILED
        case _:
            return None


def _explain_group(group: BaseExceptionGroup[BaseException]) -> tuple[str, ExitCode] | None:
    """The first of several; all of them must be expected ones."""
    explained = [explain(error) for error in group.exceptions]
    return None if None in explained else explained[0]
