"""`everyagent sessions terminate`: ends sessions."""

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.cli.output import print_json, say


def terminate(*sessions: str, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """End sessions and all their processes. Their events are kept.

    Parameters
    ----------
    sessions
        The ids of the sessions.
    """
    if not sessions:
        raise CliFailure("No session named. `everyagent sessions list` shows them.", ExitCode.USAGE)
    with options.client() as client:
        for session in sessions:
            client.terminate(session)
    if options.json:
        print_json({"terminated": sessions})
    else:
        say(f"Ended: {', '.join(sessions)}.")
