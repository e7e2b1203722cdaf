"""`everyagent sessions rewind`: brings back the files and the conversation of a session."""

from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import print_json, say
from everyagent.git.merging import named
from everyagent.model.checkpoints import Restored


def rewind(
    session: str,
    /,
    *,
    to: int,
    restore: Restored = "both",
    dry_run: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Bring back the files and the conversation of a session, as they were at an event. No event is deleted.

    Files that only you changed since stay as they are. Nothing changes if you have changed others, too.

    Parameters
    ----------
    session
        The session's id.
    to
        The sequence of the last event that counts, as `everyagent sessions tail` shows it. One inside a turn stands for
        the event before that turn.
    restore
        both, files or conversation. Files need a session that began with `run --checkpoints`.
    dry_run
        Only show the files that would be changed.
    """
    with options.client() as client:
        rewound = client.rewind(session, to, restore=restore, dry_run=dry_run)
    if options.json:
        print_json(rewound)
        return
    files = named(rewound.files) or "none"
    if dry_run:
        say(f"Nothing was changed. A rewind to event {rewound.sequence} would change these files: {files}.")
    else:
        say(f"Rewound to event {rewound.sequence}. Files that were changed: {files}.")
