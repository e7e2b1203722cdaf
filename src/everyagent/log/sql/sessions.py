"""Sessions and their waiting inputs, read from the database."""

from collections.abc import Sequence
from typing import Protocol, cast

from everyagent.log.log import Input, SessionQuery, SessionRecord
from everyagent.log.sql.connection import Connection, Value
from everyagent.log.sql.rows import SELECT_SESSION, no_such_session, session_record


def by_id(connection: Connection, session_id: str) -> SessionRecord:
    row = connection.execute(SELECT_SESSION + "WHERE session_id = ?", (session_id,)).fetchone()
    if row is None:
        raise no_such_session(session_id)
    return session_record(row)


def by_number(connection: Connection, number: int) -> SessionRecord:
    row = connection.execute(SELECT_SESSION + "WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise no_such_session(number)
    return session_record(row)


class SessionConditions(Protocol):
    """Conditions that each database writes in its own way, with their parameters."""

    #: One parameter: the directory.
    in_directory: str
    #: Two parameters: the key and its value.
    has_metadata: str


def listing(connection: Connection, query: SessionQuery, conditions: SessionConditions) -> list[SessionRecord]:
    wanted: list[tuple[str, Sequence[Value]]] = [
        ("status = ?", (query.status,)),
        ("agent = ?", (query.agent,)),
        ("number < ?", (query.before,)),
        ("workspace = ?", (query.workspace,)),
        ("created_at >= ?", (query.since,)),
        ("created_at < ?", (query.until,)),
        (conditions.in_directory, (query.directory,)),
        *((conditions.has_metadata, pair) for pair in query.metadata),
    ]
    given = [(condition, values) for condition, values in wanted if None not in values]
    where = f"WHERE {' AND '.join(condition for condition, _ in given)} " if given else ""
    parameters = [value for _, values in given for value in values]
    rows = connection.execute(SELECT_SESSION + where + "ORDER BY number DESC LIMIT ?", (*parameters, query.limit + 1))
    return [session_record(row) for row in rows.fetchall()]


def count_open(connection: Connection) -> int:
    rows = connection.execute(
        "SELECT COUNT(*) FROM sessions WHERE status IN ('idle', 'running', 'waiting', 'hibernated')"
    )
    return cast("tuple[int]", rows.fetchone())[0]


def unfinished(connection: Connection, condition: str) -> list[SessionRecord]:
    """`condition` is that of the database's partial index for it."""
    rows = connection.execute(f"{SELECT_SESSION}WHERE {condition} ORDER BY number")
    return [session_record(row) for row in rows.fetchall()]


def inputs(connection: Connection, session: int) -> list[Input]:
    rows = connection.execute("SELECT item_id, body FROM inputs WHERE session = ? ORDER BY number", (session,))
    return [Input(item_id=item_id, body=body) for item_id, body in cast("list[tuple[str, bytes]]", rows.fetchall())]
