"""`everyagent sessions list`: lists sessions."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import age, one_line, print_json, print_table, say
from everyagent.client import Client
from everyagent.model.events import SessionStatus
from everyagent.model.sessions import SessionInfo

PAGE = 500


def list_sessions(
    *,
    status: SessionStatus | None = None,
    agent: str | None = None,
    limit: Annotated[int, Parameter(name=["--limit", "-n"], validator=Number(gte=1))] = 50,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """List sessions, newest first.

    Parameters
    ----------
    status
        Only sessions with this status.
    agent
        Only sessions of this agent.
    limit
        The maximum number of sessions.
    """
    with options.client() as client:
        found = collect(client, status, agent, limit)
    if options.json:
        print_json(found)
    elif found:
        print_table(("SESSION", "AGENT", "STATUS", "EVENTS", "UPDATED", "TITLE"), [_row(info) for info in found])
    else:
        say('No sessions yet. Start one with: everyagent run AGENT "prompt"')


def collect(client: Client, status: SessionStatus | None, agent: str | None, limit: int) -> list[SessionInfo]:
    found: list[SessionInfo] = []
    page: str | None = None
    while len(found) < limit:
        answer = client.sessions(status=status, agent=agent, limit=min(PAGE, limit - len(found)), page=page)
        found += answer.sessions
        page = answer.next_page
        if page is None:
            break
    return found


def _row(info: SessionInfo) -> tuple[str, ...]:
    status = f"{info.status} ({info.pending_asks})" if info.pending_asks else info.status
    return info.session_id, info.agent, status, str(info.event_count), age(info.updated_at), one_line(info.title or "")
