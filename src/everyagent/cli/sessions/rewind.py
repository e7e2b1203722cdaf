"""`everyagent sessions rewind`: brings back the files and the conversation of a session."""

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import print_json, say
from everyagent.git.merging import named
from everyagent.model.checkpoints import Restored


def rewind(session: str, /, *, to: int, restore: Restored = "both", options: DaemonOptions = DEFAULT_OPTIONS) -> None:
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
    """
    with options.client() as client:
        rewound = client.rewind(session, to, restore=restore)
    if options.json:
        print_json(rewound)
        return
    say(f"Rewound to event {rewound.sequence}. Files: {named(rewound.files) or 'none had to be changed'}.")
