"""`everyagent sessions fork`."""

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
    """A copy that goes its own way. Prints its id.

    Parameters
    ----------
    session
        The id of the one to copy.
    at
        The last event to keep, by its sequence. [default: all]
    new_id
        The copy's id. [default: made]
    title
        The copy's title.
    agent
        Go on with another agent.
    model
        Go on with another model.
    """
    with options.client() as client:
        info = client.fork(session, new_id=new_id, sequence=at, title=title, agent=agent, model=model)
    if options.json:
        print_json(info)
        return
    print(info.session_id)
    say(f'Go on with: everyagent run {info.agent} --session {info.session_id} "…"', "dim")
