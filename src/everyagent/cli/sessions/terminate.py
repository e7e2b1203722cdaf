"""`everyagent sessions terminate`."""

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import print_json, say


def terminate(*sessions: str, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """End sessions and all their processes. Their logs stay.

    Parameters
    ----------
    sessions
        Their ids.
    """
    with options.client() as client:
        for session in sessions:
            client.terminate(session)
    if options.json:
        print_json({"terminated": sessions})
    else:
        say(f"Ended: {', '.join(sessions)}." if sessions else "Nothing to do: no session named.")
