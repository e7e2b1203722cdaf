"""`everyagent sessions rename`: sets a session's title."""

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import print_json, say


def rename(session: str, title: str, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Set a session's title.

    Parameters
    ----------
    session
        The session's id.
    title
        The new title; an empty one is the beginning of the first message again.
    """
    with options.client() as client:
        info = client.update(session, title=title.strip() or None)
    if options.json:
        print_json(info)
    else:
        say(f"{session} is called: {info.title or '(nothing yet)'}")
