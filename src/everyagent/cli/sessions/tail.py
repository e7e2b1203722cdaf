"""`everyagent sessions tail`: prints and follows a session's events."""

from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.event_lines import line_of
from everyagent.cli.output import out, print_line
from everyagent.client.event_codec import encode_event


def tail(
    session: str,
    /,
    *,
    follow: Annotated[bool, Parameter(name=["--follow", "-f"], negative=(), show_default=False)] = False,
    last: Annotated[int | None, Parameter(name=["--last", "-n"])] = None,
    offset: int = 0,
    types: Annotated[str | None, Parameter(name=["--types", "-t"])] = None,
    raw: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Print a session's events, oldest first.

    Parameters
    ----------
    session
        The session's id.
    follow
        Follow new events until the session ends.
    last
        Start with this many of the newest events.
    offset
        Start after this sequence.
    types
        Only these event types, separated by commas: item.completed,turn.ended
    raw
        Include the agent's native frames; needs --json.
    """
    wanted = [name for name in (types or "").split(",") if name]
    with options.client() as client:
        if last is not None:
            offset = max(offset, client.session(session).event_count - last)
        for event in client.events(session, offset=offset, types=wanted, include_raw=raw, follow=follow):
            if options.json:
                print_line(encode_event(event))
            else:
                out().print(line_of(event), soft_wrap=True)
