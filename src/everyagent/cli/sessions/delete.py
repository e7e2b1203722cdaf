"""`everyagent sessions delete`."""

import sys
from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import CommandFailed, ExitCode
from everyagent.cli.output import print_json, say


def delete(
    *sessions: str,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative=(), show_default=False)] = False,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Delete sessions with everything that was said in them. There is no way back.

    Parameters
    ----------
    sessions
        Their ids.
    yes
        Do not ask.
    """
    if sessions and not yes:
        _confirm(sessions)
    with options.client() as client:
        for session in sessions:
            client.delete(session)
    if options.json:
        print_json({"deleted": sessions})
    else:
        say(f"Deleted: {', '.join(sessions)}." if sessions else "Nothing to do: no session named.")


def _confirm(sessions: tuple[str, ...]) -> None:
    if not sys.stdin.isatty():
        raise CommandFailed("Deleting cannot be undone, and nobody is there to ask. Say --yes.", ExitCode.USAGE)
    say(f"Delete {', '.join(sessions)} with everything in it? [y/N] ")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise CommandFailed("Nothing was deleted.")
