"""`everyagent sessions list`: lists sessions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypedDict, Unpack

from cyclopts import Parameter
from cyclopts.validators import Number

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.cli.output import age, one_line, print_json, print_table, say
from everyagent.client import Client
from everyagent.model.events import SessionStatus
from everyagent.model.sessions import SessionInfo

PAGE = 500


def list_sessions(
    *,
    status: SessionStatus | None = None,
    agent: str | None = None,
    directory: Annotated[Path | None, Parameter(name=["--directory", "-C"])] = None,
    metadata: Annotated[list[str] | None, Parameter(negative=())] = None,
    since: str | None = None,
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
    directory
        Only sessions in this directory.
    metadata
        Only sessions with this pair in their metadata: KEY:VALUE. Can be given several times.
    since
        Only sessions created since this time, in RFC 3339 with a zone: 2030-01-31T12:00:00Z.
    limit
        The maximum number of sessions.
    """
    pairs = dict(map(_pair, metadata or []))
    place = str(directory.resolve()) if directory else None
    with options.client() as client:
        found = collect(client, limit, status=status, agent=agent, directory=place, metadata=pairs, since=since)
    if options.json:
        print_json(found)
    elif found:
        print_table(("SESSION", "AGENT", "STATUS", "EVENTS", "UPDATED", "TITLE"), [_row(info) for info in found])
    elif status or agent or place or pairs or since:
        say("No session matches.")
    else:
        say('No sessions yet. Start one with: everyagent run AGENT "prompt"')


def _pair(text: str) -> tuple[str, str]:
    key, colon, value = text.partition(":")
    if not colon:
        raise CliFailure(f"--metadata {text}: write KEY:VALUE.", ExitCode.USAGE)
    return key, value


class Filters(TypedDict, total=False):
    status: SessionStatus | None
    agent: str | None
    directory: str | None
    metadata: Mapping[str, str]
    since: str | None


def collect(client: Client, limit: int, **filters: Unpack[Filters]) -> list[SessionInfo]:
    found: list[SessionInfo] = []
    page: str | None = None
    while len(found) < limit:
        answer = client.sessions(**filters, limit=min(PAGE, limit - len(found)), page=page)
        found += answer.sessions
        page = answer.next_page
        if page is None:
            break
    return found


def _row(info: SessionInfo) -> tuple[str, ...]:
    status = f"{info.status} ({info.pending_asks})" if info.pending_asks else info.status
    return info.session_id, info.agent, status, str(info.event_count), age(info.updated_at), one_line(info.title or "")
