"""`everyagent usage`: tokens, cost, turns and waiting, by day, agent, model and more."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated

import anyio
from cyclopts import Parameter

from everyagent.cli.daemon_connection import connect
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import print_json, print_table, say
from everyagent.cli.usage_text import cost
from everyagent.model.usage import UsageField, UsageReport, UsageSum

_COUNTS = ("SESSIONS", "TURNS", "IN", "OUT", "CACHED", "COST", "WAITED")


def usage(
    *,
    by: Annotated[list[UsageField], Parameter(negative=())] = ["day"],  # noqa: B006 - cyclopts copies it
    days: int | None = None,
    since: date | None = None,
    until: date | None = None,
    session: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    workspace: str | None = None,
    key: str | None = None,
    directory: str | None = None,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Sum tokens, cost, turns and the time in which people were waited for. Days are those of UTC.

    Parameters
    ----------
    by
        A field to group by; repeat it for combinations: day, session, agent, model, workspace, key, directory.
    days
        The last days, with today.
    since
        The first day, like 2030-01-31.
    until
        The day after the last one.
    session
        Only this session.
    agent
        Only this agent.
    model
        Only this model.
    workspace
        Only this workspace.
    key
        Only what the API key with this id paid.
    directory
        Only sessions in this directory.
    """
    if days is not None and since is None:
        since = datetime.now(UTC).date() - timedelta(days=days - 1)

    async def summed() -> UsageReport:
        async with connect(options) as connection:
            return await connection.client.usage(
                by,
                since=None if since is None else since.isoformat(),
                until=None if until is None else until.isoformat(),
                session_id=session,
                agent=agent,
                model=model,
                workspace=workspace,
                key_id=key,
                directory=directory,
            )

    report = anyio.run(summed, backend_options={"use_uvloop": True})
    if options.json:
        print_json(report)
        return
    rows = [(*_names(each, by), *_counts(each)) for each in report.sums]
    total = ("total", *[""] * (len(by) - 1), *_counts(report.total))
    print_table((*(field.upper() for field in by), *_COUNTS), [*rows, total])
    if report.more:
        say("There are more. Limit the days, or name an agent, a model or a workspace.", "dim")


def _names(of: UsageSum, by: Sequence[UsageField]) -> list[str]:
    """In words where there is no name."""
    named: dict[UsageField, tuple[object, str]] = {
        "day": (of.day, ""),
        "session": (of.session_id, "(deleted)"),
        "agent": (of.agent, ""),
        "model": (of.model, "(unknown)"),
        "workspace": (of.workspace, ""),
        "key": (of.key_id, "(none)"),
        "directory": (of.directory, "(deleted)"),
    }
    return [str(named[field][0] or named[field][1]) for field in by]


def _counts(of: UsageSum) -> list[str]:
    used = of.usage
    counts = (of.sessions, of.turns, used.input_tokens, used.output_tokens)
    cached = used.cache_read_tokens + used.cache_write_tokens
    return [*(f"{count:,}" for count in (*counts, cached)), cost(of.cost_usd), _time(of.waited_seconds)]


def _time(seconds: float) -> str:
    """`1:02:03`; empty for less than a second."""
    return str(timedelta(seconds=int(seconds))) if seconds >= 1 else ""
