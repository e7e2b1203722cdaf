"""`everyagent sessions cancel`."""

from everyagent.cli.screen import print_json, say
from everyagent.cli.target import HERE, Target


def cancel(session: str, /, *, target: Target = HERE) -> None:
    """Stop the turn, keep the session.

    Parameters
    ----------
    session
        Its id.
    """
    with target.client() as client:
        cancelled = client.cancel(session)
    if target.json:
        print_json({"cancelled": cancelled})
    else:
        say("The turn is being stopped." if cancelled else "No turn was running.")
