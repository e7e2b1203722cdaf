"""Exit codes of the CLI, and the exception that carries one. `docs/cli.md` and `--help` list them."""

from enum import IntEnum


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    WAITING = 3
    NOT_FOUND = 4
    NO_DAEMON = 5
    INTERRUPTED = 130


MEANINGS: dict[ExitCode, str] = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "the command failed, and stderr gives the reason",
    ExitCode.USAGE: "wrong usage or an invalid setting",
    ExitCode.WAITING: "an agent waits for an answer and there is no terminal to prompt for it",
    ExitCode.NOT_FOUND: "no such session, ask or agent",
    ExitCode.NO_DAEMON: "the daemon does not answer",
    ExitCode.INTERRUPTED: "stopped by Ctrl-C",
}

EPILOGUE = "Exit codes: " + "; ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items()) + "."


class CliFailure(Exception):
    """An expected failure: printed as a message, without a traceback."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code
