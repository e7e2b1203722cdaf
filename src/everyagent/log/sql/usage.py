"""Usage in the database: one row for each session, day, model and key. Rows outlive their sessions."""

from collections.abc import Sequence
from typing import Final, Protocol, cast

from everyagent.log.log import Append
from everyagent.log.sql.connection import Connection, Value
from everyagent.log.usage import MOST_COUNTED, MOST_USD, UsageEntry, UsageQuery, UsageRow, day_of
from everyagent.model.usage import Usage

_TOKENS: Final = Usage.__struct_fields__
_COUNTS: Final = ("turns", *_TOKENS, "cost", "waited")
_ADD: Final = (
    f"INSERT INTO usage (session, day, model, key_id, agent, workspace, {', '.join(_COUNTS)}) "
    f"SELECT number, ?, ?, ?, agent, workspace{', ?' * len(_COUNTS)} FROM sessions WHERE number = ? "
    "ON CONFLICT (session, day, model, key_id) DO UPDATE SET "
    + ", ".join(f"{name} = usage.{name} + excluded.{name}" for name in _COUNTS)
)
_SUMS: Final = ", ".join(f"coalesce(sum({name}), 0)" for name in _COUNTS)


class UsageExpressions(Protocol):
    #: The directory of a session, from its configuration.
    directory: str


def add(connection: Connection, step: Append, at: int) -> None:
    """To be called before the step's asks are written."""
    for use in step.used:
        if use.answered:
            continue
        _add(connection, step, at, use, 0)
    answered = next((use for use in step.used if use.answered), None)
    if answered and (waited := _waited(connection, step.session, at)):
        _add(connection, step, at, answered, waited)


def _add(connection: Connection, step: Append, at: int, use: UsageEntry, waited: int) -> None:
    tokens = [min(cast("int", getattr(use.usage, name)), MOST_COUNTED) for name in _TOKENS]
    cost = round(min(max(0.0, use.cost_usd), MOST_USD) * 1e9)
    key = (day_of(at), use.model, use.key_id)
    connection.execute(_ADD, (*key, use.turns, *tokens, cost, waited, step.session))


def _waited(connection: Connection, session: int, at: int) -> int:
    """The time since an ask was open and nothing was counted. Asks that are open together are counted once."""
    row = connection.execute(
        "SELECT (SELECT min(asked_at) FROM asks WHERE session = ?1 AND answer IS NULL AND kind <> 'tool'), "
        "(SELECT max(closed_at) FROM asks WHERE session = ?1 AND kind <> 'tool')",
        (session,),
    ).fetchone()
    asked_at, counted_until = cast("tuple[int | None, int | None]", row)
    return 0 if asked_at is None else max(0, at - max(asked_at, counted_until or 0))


def sums(connection: Connection, query: UsageQuery, expressions: UsageExpressions) -> list[UsageRow]:
    columns = {
        "session": "sessions.session_id",
        "directory": expressions.directory,
        "key": "usage.key_id",
    }
    fields = [columns.get(name, f"usage.{name}") for name in query.by]
    titled = "session" in query.by
    grouped = [*fields, *(("sessions.title", "sessions.topic") if titled else ())]
    where, values = _conditions(query, expressions)
    rows = connection.execute(
        f"SELECT {''.join(f'{column}, ' for column in grouped)}count(DISTINCT usage.session), {_SUMS} "
        f"FROM usage LEFT JOIN sessions ON sessions.number = usage.session {where}"
        + (f"GROUP BY {', '.join(str(place + 1) for place in range(len(grouped)))}" if grouped else ""),
        values,
    ).fetchall()
    return [_row(query, row[: len(fields)], row[len(fields) : len(grouped)], row[len(grouped) :]) for row in rows]


def _conditions(query: UsageQuery, expressions: UsageExpressions) -> tuple[str, list[Value]]:
    wanted: dict[str, Value] = {
        "usage.day >= ?": query.since,
        "usage.day < ?": query.until,
        "sessions.session_id = ?": query.session_id,
        "usage.agent = ?": query.agent,
        "usage.model = ?": query.model,
        "usage.workspace = ?": query.workspace,
        "usage.key_id = ?": query.key_id,
        f"{expressions.directory} = ?": query.directory,
    }
    given = {condition: value for condition, value in wanted.items() if value is not None}
    return (f"WHERE {' AND '.join(given)} " if given else ""), list(given.values())


def _row(query: UsageQuery, fields: Sequence[Value], titles: Sequence[Value], counts: Sequence[Value]) -> UsageRow:
    # PostgreSQL's sum of whole numbers is a decimal.
    sessions, turns, *tokens, cost, waited = (int(cast("int", count)) for count in counts)
    return UsageRow(
        dict(zip(query.by, cast("Sequence[str | int | None]", fields), strict=True)),
        next((cast("str", title) for title in titles if title is not None), None),
        sessions,
        turns,
        Usage(**dict(zip(_TOKENS, tokens, strict=True))),
        cost,
        waited,
    )
