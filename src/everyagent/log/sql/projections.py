"""Views in the database: reads their rows, and writes the changes of a step."""

from functools import cache

import msgspec
from msgspec import UNSET

from everyagent.errors import LogConflict
from everyagent.log.projections import (
    PROJECTION,
    SUPERSEDED,
    NewProjection,
    ProjectionQuery,
    ProjectionRecord,
    ProjectionStep,
)
from everyagent.log.sql.connection import Connection, Value
from everyagent.log.sql.group import Group
from everyagent.log.sql.rows import key, no_such_session
from everyagent.log.sql.spans import session_head

_COLUMNS = tuple(name for name in ProjectionRecord.__struct_fields__ if name not in ("session_id", "workspace"))
_SELECT = (
    f"SELECT session_id, sessions.workspace, {', '.join(f'views.{name}' for name in _COLUMNS)} "
    "FROM views JOIN sessions ON sessions.number = views.session "
)


def create(connection: Connection, session: int, projection: NewProjection, at: int) -> None:
    connection.execute(
        "INSERT INTO views VALUES (?, ?, ?, ?, ?, ?, ?, NULL, 0, 0, ?, ?)",
        (
            session,
            projection.agent_id,
            projection.agent_version,
            projection.environment_id,
            projection.status,
            at,
            at,
            projection.state,
            projection.document,
        ),
    )


def check(connection: Connection, session: int, step: ProjectionStep) -> None:
    head = session_head(connection, session | PROJECTION)
    numbers = [event.sequence for event in step.events]
    if numbers != list(range(step.expected + 1, step.expected + len(numbers) + 1)):
        raise ValueError(f"the view's events after {step.expected} are not numbered one by one")
    if head != step.expected:
        raise LogConflict(f"The view's head is {head}, not {step.expected}. Nothing was written.", head)


def write(group: Group, session: int, step: ProjectionStep, at: int) -> None:
    """After `check`."""
    if step.events:
        group.add_events(session | PROJECTION, step.events, at)
    if step.superseded:
        group.flush()
    for number in step.superseded:
        group.connection.execute(
            "UPDATE events SET type = ? WHERE key = ?", (SUPERSEDED, key(session | PROJECTION, number))
        )
    changed: dict[str, Value] = {"status": step.status, "state": step.state, "hidden": step.hidden}
    if step.document is not None:
        changed["document"] = step.document
    if step.archived_at is not UNSET:
        changed["archived_at"] = step.archived_at
    group.connection.execute(
        _advance_sql(group.greatest, tuple(changed)), (session, step.expected + len(step.events), at, *changed.values())
    )


def rewrite(group: Group, session: int, step: ProjectionStep, times: list[int]) -> None:
    """Replaces a whole projection. `step` holds all its events, `times` the time of each."""
    group.flush()
    projection = session | PROJECTION
    group.connection.execute(
        "DELETE FROM events WHERE key > ? AND key < ?", (key(projection, 0), key(projection + 1, 0))
    )
    for event, at in zip(step.events, times, strict=True):
        group.add_events(projection, [event], at)
    last = times[-1] if times else 0
    write(group, session, msgspec.structs.replace(step, expected=len(times), events=()), last)
    group.rewritten.append(projection)


def find(connection: Connection, session_id: str) -> ProjectionRecord:
    row = connection.execute(_SELECT + "WHERE session_id = ?", (session_id,)).fetchone()
    if row is None:
        raise no_such_session(session_id)
    return _record(row)


def listing(connection: Connection, query: ProjectionQuery) -> list[ProjectionRecord]:
    """At most `limit + 1`."""
    wanted: dict[str, Value] = {
        "views.agent_id = ?": query.agent_id,
        "views.agent_version = ?": query.agent_version,
        "views.created_at >= ?": query.since,
        "views.created_at < ?": query.until,
        "views.session > ?": query.after,
        "views.session < ?": query.before,
        "sessions.workspace = ?": query.workspace,
    }
    given = {condition: value for condition, value in wanted.items() if value is not None}
    conditions, values = list(given), list(given.values())
    if query.statuses:
        conditions.append(f"views.status IN ({', '.join('?' * len(query.statuses))})")
        values += query.statuses
    if query.owning:
        conditions.append("EXISTS (SELECT 1 FROM records WHERE parent = session_id AND kind = ? AND key = ?)")
        values += query.owning
    if not query.archived:
        conditions.append("views.archived_at IS NULL")
    if not query.unlisted:
        conditions.append("views.environment_id <> ''")
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    rows = connection.execute(
        f"{_SELECT}{where}ORDER BY views.session {query.order} LIMIT ?", (*values, query.limit + 1)
    )
    return [_record(row) for row in rows.fetchall()]


@cache
def _advance_sql(greatest: str, changed: tuple[str, ...]) -> str:
    more = "".join(f", {name} = ?{number}" for number, name in enumerate(changed, 4))
    return f"UPDATE views SET head = ?2, updated_at = {greatest}(updated_at, ?3){more} WHERE session = ?1"


def _record(row: tuple[Value, ...]) -> ProjectionRecord:
    return msgspec.convert(dict(zip(("session_id", "workspace", *_COLUMNS), row, strict=True)), ProjectionRecord)
