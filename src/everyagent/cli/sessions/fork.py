"""`everyagent sessions fork`: copies a session."""

from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import print_json, say


def fork(
    session: str,
    /,
    *,
    at: Annotated[int | None, Parameter(name=["--at", "--sequence"])] = None,
    new_id: Annotated[str | None, Parameter(name="--id")] = None,
    title: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Copy a session and print the id of the copy, which continues separately.

    Parameters
    ----------
    session
        The id of the session to copy.
    at
        The sequence of the last event to copy. [default: all events]
    new_id
        The copy's id. [default: generated]
    title
        The copy's title.
    agent
        Continue with another agent.
    model
        Continue with another model.
    """
    with options.client() as client:
        info = client.fork(session, new_id=new_id, sequence=at, title=title, agent=agent, model=model)
    if options.json:
        print_json(info)
        return
    print(info.session_id)
    say(f'Continue it with: everyagent run {info.agent} --session {info.session_id} "…"', "dim")
