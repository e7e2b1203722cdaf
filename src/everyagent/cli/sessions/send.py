"""`everyagent sessions send`: sends a message to a session."""

import sys
from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import print_json, say


def send(
    session: str,
    message: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    steer: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Send a message. Returns when it is stored, and prints its item id.

    Parameters
    ----------
    session
        The session's id.
    message
        The text; - reads it from stdin.
    steer
        Add the message to the running turn if the agent supports it; otherwise it is queued.
    """
    text = sys.stdin.read() if message == "-" else message
    with options.client() as client:
        item_id = client.send(session, text, delivery="steer" if steer else "queue")
    if options.json:
        print_json({"itemId": item_id})
        return
    print(item_id)
    say(f"Follow it with: everyagent sessions tail -f {session}", "dim")
