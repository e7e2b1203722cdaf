"""`everyagent sessions send`."""

import sys
from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.screen import print_json, say
from everyagent.cli.target import HERE, Target


def send(
    session: str,
    message: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    steer: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    target: Target = HERE,
) -> None:
    """Send it a message. Returns as soon as the message is safe on disk; prints the id it has.

    Parameters
    ----------
    session
        Its id.
    message
        The text; - reads it from stdin.
    steer
        Into the running turn, where the agent can; otherwise it waits for the next.
    """
    text = sys.stdin.read() if message == "-" else message
    with target.client() as client:
        item_id = client.send(session, text, delivery="steer" if steer else "queue")
    if target.json:
        print_json({"itemId": item_id})
        return
    print(item_id)
    say(f"Follow it with: everyagent sessions tail -f {session}", "dim")
