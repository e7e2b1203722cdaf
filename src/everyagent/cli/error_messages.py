"""Maps exceptions to an error message and an exit code."""

from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.config import ConfigError
from everyagent.errors import EveryagentError, NotFound

#: The reader of our output closed it, as `head` does: there is nothing to report.
OUTPUT_CLOSED = ("", ExitCode.FAILED)

#: Routes that the daemon's errors name, and the commands for them.
_COMMANDS = {
    "GET /v1/sessions": "`everyagent sessions list`",
    "GET /v1/keys": "`everyagent keys list`",
    "GET /v1/webhooks": "`everyagent webhooks list`",
    "GET /asks": "`everyagent asks`",
}


def explain(error: BaseException) -> tuple[str, ExitCode] | None:
    """The message and exit code of an expected error; None for any other, which needs its traceback."""
    from everyagent.client import ApiError, AskPending, ClientError, Unreachable

    match error:
        case BaseExceptionGroup():
            return _explain_group(error)
        case CliFailure():
            return str(error), error.code
        case BrokenPipeError():
            return OUTPUT_CLOSED
        case ConfigError():
            return str(error), ExitCode.USAGE
        case ApiError(status=401):
            return f"{error} Pass the right one with --token or EVERYAGENT_TOKEN.", ExitCode.FAILED
        case ApiError(status=404) | ApiError(code="unsupported_agent") | NotFound():
            return with_commands(str(error)), ExitCode.NOT_FOUND
        case Unreachable():
            return str(error), ExitCode.NO_DAEMON
        case AskPending():
            return str(error), ExitCode.WAITING
        case ClientError() | EveryagentError():
            return str(error), ExitCode.FAILED
        case _:
            return None


def with_commands(text: str) -> str:
    """The text of an error, with commands in place of the routes that it names."""
    for route, command in _COMMANDS.items():
        text = text.replace(route, command)
    return text


def _explain_group(group: BaseExceptionGroup[BaseException]) -> tuple[str, ExitCode] | None:
    """The first error of a group, if all of them are expected."""
    explained = [explain(error) for error in group.exceptions]
    return None if None in explained else explained[0]
