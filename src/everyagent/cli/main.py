"""The entry point of the CLI. Turns expected failures into a message and an exit code."""

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.terminal_text import visible


def main() -> NoReturn:
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    try:
        code = _run(list(words))
        sys.stdout.flush()
        return code
    except CliFailure as failure:
        return _fail(str(failure), failure.code)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as error:
        from everyagent.cli.error_messages import OUTPUT_CLOSED, explain

        explained = explain(error)
        if explained == OUTPUT_CLOSED:
            # Otherwise Python reports the broken pipe again when it flushes stdout at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ExitCode.FAILED
        if explained is None:
            raise
        return _fail(*explained)


def _run(words: list[str]) -> int:
    if "server" in words:
        from everyagent.cli.server_flags import serve_words

        words = serve_words(words)
    if words[:1] == ["serve"]:
        gc.disable()  # imports leave little garbage; `memory_tuning.tune` collects it and enables it again
        try:
            from everyagent.cli.daemon_start import plain_options, start

            if (options := plain_options(words[1:])) is not None:
                return start(options)
        finally:
            gc.enable()
    from cyclopts import CycloptsError

    from everyagent.cli.app import app, help_for, lacks_command

    if lacks_command(words):
        raise CliFailure(f"`everyagent {' '.join(words)}` needs a command.\nSee `{help_for(words)}`.", ExitCode.USAGE)
    try:
        result = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        raise CliFailure(f"{error}\nSee `{help_for(words)}`.", ExitCode.USAGE) from error
    return result if isinstance(result, int) else ExitCode.OK


def _fail(message: str, code: ExitCode) -> int:
    print(f"error: {visible(message)}", file=sys.stderr)
    return code
