"""Exit codes, and the failures that carry them. `docs/cli.md` and `--help` list the same."""

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
    ExitCode.FAILED: "it failed, and stderr says why",
    ExitCode.USAGE: "wrong usage, or a setting that cannot be used",
    ExitCode.WAITING: "an agent waits for a human, and there is no terminal to ask one",
    ExitCode.NOT_FOUND: "no such session, ask or agent",
    ExitCode.NO_DAEMON: "no daemon answers",
    ExitCode.INTERRUPTED: "stopped by Ctrl-C",
}

EPILOGUE = "Exit codes: " + ", ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items()) + "."


class CommandFailed(Exception):
    """An expected end that is not success: a message for a person, no traceback."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code
