"""Sessions and their waiting inputs, read from the database."""

from typing import cast

from everyagent.log.log import Input, SessionQuery, SessionRecord
from everyagent.log.sql.connection import Connection
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


def listing(connection: Connection, query: SessionQuery) -> list[SessionRecord]:
    wanted = {
        "status = ?": query.status,
        "agent = ?": query.agent,
        "number < ?": query.before,
        "workspace = ?": query.workspace,
    }
    given = {condition: value for condition, value in wanted.items() if value is not None}
    where = f"WHERE {' AND '.join(given)} " if given else ""
    rows = connection.execute(
        SELECT_SESSION + where + "ORDER BY number DESC LIMIT ?", (*given.values(), query.limit + 1)
    )
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
