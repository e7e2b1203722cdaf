"""`everyagent sessions delete`: deletes sessions and their events."""

import sys
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.cli.output import print_json, say


def delete(
    *sessions: str,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative=(), show_default=False)] = False,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Delete sessions and their events. This cannot be undone.

    Parameters
    ----------
    sessions
        The ids of the sessions.
    yes
        Do not ask for confirmation.
    """
    if not sessions:
        raise CliFailure("No session named. `everyagent sessions list` shows them.", ExitCode.USAGE)
    if not yes:
        confirm(sessions)
    with options.client() as client:
        for session in sessions:
            if left := client.delete(session):
                say(f"{session}: {left}")
    if options.json:
        print_json({"deleted": sessions})
    else:
        say(f"Deleted: {', '.join(sessions)}.")


def confirm(sessions: Sequence[str]) -> None:
    """Ask on the terminal. Raises `CliFailure` unless the answer is yes."""
    if not sys.stdin.isatty():
        raise CliFailure(
            "Deleting cannot be undone and there is no terminal to confirm it. Pass --yes.", ExitCode.USAGE
        )
    say(f"Delete {', '.join(sessions)} and all events? [y/N] ")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise CliFailure("Nothing was deleted.")
