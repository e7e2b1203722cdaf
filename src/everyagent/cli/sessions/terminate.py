"""`everyagent sessions terminate`."""

from everyagent.cli.screen import print_json, say
from everyagent.cli.target import HERE, Target


def terminate(*sessions: str, target: Target = HERE) -> None:
    """End sessions and all their processes. Their logs stay.

    Parameters
    ----------
    sessions
        Their ids.
    """
    with target.client() as client:
        for session in sessions:
            client.terminate(session)
    if target.json:
        print_json({"terminated": sessions})
    else:
        say(f"Ended: {', '.join(sessions)}." if sessions else "Nothing to do: no session named.")
