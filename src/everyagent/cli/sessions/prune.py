"""`everyagent sessions prune`: deletes old sessions, or shows which ones would be."""

import sys
import time
from typing import Annotated

from cyclopts import Parameter
from msgspec.structs import replace

from everyagent import config
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.cli.output import age, print_json, print_table, say
from everyagent.cli.sessions.delete import confirm
from everyagent.cli.sessions.list import collect
from everyagent.model.retention import RetainedStatus


def prune(
    *,
    days: float | None = None,
    events: int | None = None,
    status: RetainedStatus | None = None,
    dry_run: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative=(), show_default=False)] = False,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Delete old sessions with all their data. Sessions in which something happens are kept.

    Parameters
    ----------
    days
        Delete sessions whose last event is older. [default: the setting retain-days]
    events
        Delete the oldest sessions while the log has more events. [default: the setting retain-events]
    status
        ended, or idle for sessions that wait for a message, too. [default: the setting retain-status]
    dry_run
        Only show which sessions would be deleted.
    yes
        Do not ask for confirmation.
    """
    given = {"days": days, "events": events, "status": status}
    retention = replace(
        config.retention(options.settings()), **{name: value for name, value in given.items() if value is not None}
    )
    if not retention.deletes:
        raise CliFailure("No limit given. Pass --days or --events, or set retain-days.", ExitCode.USAGE)
    with options.client() as client:
        due = retention.due(collect(client, sys.maxsize), int(time.time() * 1000))
        if not dry_run and due:
            if not yes:
                confirm([info.session_id for info in due])
            for info in due:
                client.delete(info.session_id)
    if options.json:
        print_json({"dryRun": dry_run, "sessions": due})
        return
    if due:
        rows = [(info.session_id, info.status, str(info.event_count), age(info.updated_at)) for info in due]
        print_table(("SESSION", "STATUS", "EVENTS", "UPDATED"), rows)
    say(f"{len(due)} {'would be' if dry_run else 'were'} deleted.")
