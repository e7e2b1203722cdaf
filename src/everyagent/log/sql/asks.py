"""Asks in the database, opened and closed in one transaction with their events."""

from typing import cast

import msgspec

from everyagent.errors import AskClosed, AskNotFound, Conflict
from everyagent.log.log import Append, AskRecord, ClosedAsk
from everyagent.log.sql.connection import Connection, Value
from everyagent.log.sql.rows import SELECT_ASK, ask_record


def find(connection: Connection, session: int, ask_id: str) -> AskRecord | None:
    row = connection.execute(SELECT_ASK + "WHERE session = ? AND ask_id = ?", (session, ask_id)).fetchone()
    return None if row is None else ask_record(row)


def listing(
    connection: Connection, session: int | None, *, pending: bool, workspace: str | None = None
) -> list[AskRecord]:
    """Asks in the order of their requests."""
    wanted: dict[str, Value] = {"session = ?": session, "workspace = ?": workspace}
    given = {condition: value for condition, value in wanted.items() if value is not None}
    conditions = [*given, "answer IS NULL"] if pending else list(given)
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    rows = connection.execute(f"{SELECT_ASK}{where}ORDER BY asks.number", tuple(given.values()))
    return [ask_record(row) for row in rows.fetchall()]


def check(connection: Connection, step: Append) -> None:
    """An ask is opened once and closed once."""
    opened = {ask.ask_id for ask in step.asks}
    for ask_id in opened:
        if _answer(connection, step.session, ask_id) is not None:
            raise Conflict(f"There is an ask {ask_id!r} in this session already. Nothing was written.")
    for closed in step.closed_asks:
        if closed.ask_id not in opened:
            _check_pending(_answer(connection, step.session, closed.ask_id), closed)


def _check_pending(found: tuple[bytes | None] | None, closed: ClosedAsk) -> None:
    if found is None:
        raise AskNotFound(f"There is no ask {closed.ask_id!r} in this session.")
    if found[0] is not None:
        raise AskClosed(
            f"The ask {closed.ask_id!r} was answered before; the first answer stands.",
            firstAnswer=msgspec.json.decode(found[0]),
        )


def _answer(connection: Connection, session: int, ask_id: str) -> tuple[bytes | None] | None:
    row = connection.execute("SELECT answer FROM asks WHERE session = ? AND ask_id = ?", (session, ask_id))
    return cast("tuple[bytes | None] | None", row.fetchone())


def write(connection: Connection, step: Append, at: int) -> None:
    for ask in step.asks:
        connection.execute(
            "INSERT INTO asks (session, ask_id, kind, sequence, asked_at, request) VALUES (?, ?, ?, ?, ?, ?)",
            (step.session, ask.ask_id, ask.kind, ask.sequence, at, ask.request),
        )
    for closed in step.closed_asks:
        connection.execute(
            "UPDATE asks SET answer = ?, closed_sequence = ?, closed_at = ? WHERE session = ? AND ask_id = ?",
            (closed.answer, closed.sequence, at, step.session, closed.ask_id),
        )
    connection.execute(
        "UPDATE sessions SET pending_asks = (SELECT count(*) FROM asks WHERE session = ?1 AND answer IS NULL) "
        "WHERE number = ?1",
        (step.session,),
    )
