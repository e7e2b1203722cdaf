"""`everyagent sessions cancel`: stops the running turn."""

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import print_json, say


def cancel(session: str, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Stop the running turn and keep the session.

    Parameters
    ----------
    session
        The session's id.
    """
    with options.client() as client:
        cancelled = client.cancel(session)
    if options.json:
        print_json({"cancelled": cancelled})
    else:
        say("The turn is being stopped." if cancelled else "No turn was running.")
