"""`everyagent sessions tail`."""

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
    """Its events, oldest first.

    Parameters
    ----------
    session
        Its id.
    follow
        Go on as they come, until the session ends.
    last
        Begin so many events before the newest.
    offset
        Begin after this sequence.
    types
        Only these, separated by commas: item.completed,turn.ended
    raw
        With the agent's own frames; for --json.
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
