"""`everyagent sessions queue`: lists and withdraws messages that wait for their turn."""

from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import one_line, print_json, print_table, say


def queue(
    session: str,
    /,
    *,
    remove: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """List the messages that wait for their turn, next first, or withdraw some.

    Parameters
    ----------
    session
        The session's id.
    remove
        The id of a message that is not to be sent. Can be given several times.
    """
    with options.client() as client:
        for item in remove:
            client.withdraw(session, item)
        waiting = client.queue(session)
    if options.json:
        print_json(waiting)
    elif waiting:
        rows = [(each.item_id, str(each.attachments or ""), one_line(each.message)) for each in waiting]
        print_table(("MESSAGE", "FILES", "TEXT"), rows)
    else:
        say("No message waits.")
