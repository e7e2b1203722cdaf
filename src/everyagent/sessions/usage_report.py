"""Reports of usage and cost, from the sums in the log. The API's route calls this."""

from collections.abc import Sequence
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from everyagent.errors import BadRequest
from everyagent.log.log import Log
from everyagent.log.usage import UsageQuery, UsageRow
from everyagent.model.usage import Usage, UsageField, UsageReport, UsageSum

_EPOCH = date(1970, 1, 1).toordinal()


class UsageRequest(Struct, frozen=True, kw_only=True):
    """Sums for each combination of `by`. `until` is the day after the last one."""

    by: Sequence[UsageField] = ()
    since: date | None = None
    until: date | None = None
    session_id: str | None = None
    agent: str | None = None
    model: str | None = None
    workspace: str | None = None
    key_id: str | None = None
    directory: str | None = None
    limit: int = 1000


async def usage_report(log: Log, request: UsageRequest) -> UsageReport:
    """By days the oldest first, and what cost most before the rest."""
    if len(set(request.by)) != len(request.by):
        raise BadRequest("`by` has a field twice. Name each of them once.", field="by")
    query = UsageQuery(
        by=request.by,
        since=_number(request.since),
        until=_number(request.until),
        session_id=request.session_id,
        agent=request.agent,
        model=request.model,
        workspace=request.workspace,
        key_id=request.key_id,
        directory=request.directory,
    )
    (total,) = await log.usage(replace(query, by=()))
    rows = sorted(await log.usage(query), key=_order) if request.by else []
    return UsageReport(
        sums=[_sum(row) for row in rows[: request.limit]], total=_sum(total), more=len(rows) > request.limit
    )


def _number(day: date | None) -> int | None:
    return None if day is None else day.toordinal() - _EPOCH


def _order(row: UsageRow) -> tuple[object, ...]:
    day = row.fields.get("day", 0)
    return (day, -row.cost, -_tokens(row.usage), *(str(value) for value in row.fields.values()))


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens


def _sum(row: UsageRow) -> UsageSum:
    fields: dict[str, object] = {_NAMES.get(name, name): value for name, value in row.fields.items()}
    if isinstance(day := row.fields.get("day"), int):
        fields["day"] = date.fromordinal(day + _EPOCH).isoformat()
    if "session" in row.fields:
        fields["title"] = row.title
    return replace(
        UsageSum(
            sessions=row.sessions,
            turns=row.turns,
            usage=row.usage,
            cost_usd=row.cost / 1e9,
            waited_seconds=row.waited / 1e6,
        ),
        **fields,
    )


_NAMES: dict[UsageField, str] = {"session": "session_id", "key": "key_id"}
