"""The changes of the log, as jobs for a group commit. Each checks before it writes, so a refused job has no effect
on the others of its group."""

from collections.abc import Callable, Sequence
from functools import cache
from operator import lt
from typing import cast

import msgspec
from msgspec import UNSET

from everyagent.errors import Conflict, KeyReused, LogConflict, LogFenced, SessionExists
from everyagent.log.audit import AuditEntry
from everyagent.log.log import Append, Input, NewEvent, NewFrame, Receipt, SessionChanges, SessionRecord
from everyagent.log.projections import PROJECTION, NewProjection
from everyagent.log.sql import asks, audit, projections, receipts, usage
from everyagent.log.sql.group import Group
from everyagent.log.sql.rows import (
    SELECT_SESSION,
    SESSION_COLUMNS,
    column,
    no_such_session,
    session_record,
    session_row,
)

#: Greater than the number of any frame.
NO_FRAME = 1 << 62


def create(
    group: Group,
    record: SessionRecord,
    events: Sequence[NewEvent],
    frames: Sequence[NewFrame],
    receipt: Receipt | None,
    projection: NewProjection | None,
    entry: AuditEntry | None = None,
) -> SessionRecord:
    _check_numbered(events, 0)
    _check_rising(frames)
    connection = group.connection
    receipts.check_unused(connection, receipt, group.now)
    if connection.execute("SELECT 1 FROM sessions WHERE session_id = ?", (record.session_id,)).fetchone():
        raise SessionExists(f"There is a session {record.session_id!r} already. Choose another id.")
    record = msgspec.structs.replace(
        record,
        last_sequence=len(events),
        last_frame=frames[-1].number if frames else 0,
        last_at=max(record.last_at, record.created_at),
        pending_asks=0,
        queued_inputs=0,
    )
    (number,) = cast("tuple[int]", connection.execute(_insert_session_sql(), session_row(record)[1:]).fetchone())
    if events:
        group.add_events(number, events, record.last_at)
    if frames:
        group.add_frames(number, frames, record.last_at)
    if projection is not None:
        projections.create(connection, number, projection, record.created_at)
    if receipt is not None:
        receipts.store(connection, receipt, group.now)
    audit.write(connection, entry)
    return msgspec.structs.replace(record, number=number)


def claim(group: Group, session_id: str) -> SessionRecord:
    connection = group.connection
    connection.execute("UPDATE sessions SET epoch = epoch + 1 WHERE session_id = ?", (session_id,))
    row = connection.execute(SELECT_SESSION + "WHERE session_id = ?", (session_id,)).fetchone()
    if row is None:
        raise no_such_session(session_id)
    return session_record(row)


def append(group: Group, step: Append) -> None:
    _check_numbered(step.events, step.expected)
    _check_rising(step.frames)
    connection = group.connection
    receipts.check_unused(connection, step.receipt, group.now)
    asks.check(connection, step)
    if step.projection is not None:
        projections.check(connection, step.session, step.projection)
    _check_inputs(group, step.session, step.inputs)
    at = _advance(group, step)
    if step.events:
        group.add_events(step.session, step.events, at)
    if step.projection is not None:
        projections.write(group, step.session, step.projection, at)
    if step.frames:
        group.add_frames(step.session, step.frames, at)
    if step.used:
        usage.add(connection, step, at)
    if step.asks or step.closed_asks:
        asks.write(connection, step, at)
    for waiting in step.inputs:
        connection.execute(
            "INSERT INTO inputs (session, item_id, body) VALUES (?, ?, ?)",
            (step.session, waiting.item_id, waiting.body),
        )
    for item_id in step.taken_inputs:
        connection.execute("DELETE FROM inputs WHERE session = ? AND item_id = ?", (step.session, item_id))
    if step.inputs or step.taken_inputs:
        _count_inputs(group, step.session)
    if step.receipt is not None:
        receipts.store(connection, step.receipt, group.now)
    for charge in step.charges:
        connection.execute(
            "INSERT INTO spending (key_id, usd) VALUES (?, ?) "
            "ON CONFLICT (key_id) DO UPDATE SET usd = spending.usd + excluded.usd",
            charge,
        )
    audit.write(connection, step.audit)


class AppendWork:
    """An append as the work of a job."""

    __slots__ = ("step",)

    def __init__(self, step: Append) -> None:
        self.step = step

    def __call__(self, group: Group) -> None:
        append(group, self.step)

    @property
    def plain(self) -> bool:
        """It changes nothing of the session's row but its head, and depends on nothing else."""
        step = self.step
        return not (
            step.changes
            or step.receipt
            or step.projection
            or step.asks
            or step.closed_asks
            or step.inputs
            or step.taken_inputs
        )


def keep_receipt(group: Group, receipt: Receipt) -> None:
    """Stores an answer. The first one stays; repeating it is no error."""
    first = receipts.find(group.connection, receipt.key, group.now)
    if first is None:
        receipts.store(group.connection, receipt, group.now)
    elif first.fingerprint != receipt.fingerprint:
        raise KeyReused("This Idempotency-Key came with another request. Send each new request with a new key.")


def delete(group: Group, session_id: str, entry: AuditEntry | None = None) -> None:
    """Deletes the session in this commit; its rows are removed in slices afterwards."""
    group.flush()
    connection = group.connection
    row = connection.execute("SELECT number FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    if row is None:
        raise no_such_session(session_id)
    number = cast("int", row[0])
    digests = connection.execute("SELECT digest FROM blobs WHERE session = ?", (number,)).fetchall()
    for statement in (
        "DELETE FROM sessions WHERE number = ?",
        "DELETE FROM asks WHERE session = ?",
        "DELETE FROM inputs WHERE session = ?",
        "DELETE FROM blobs WHERE session = ?",
        "DELETE FROM views WHERE session = ?",
        "INSERT INTO debris (session) VALUES (?)",
    ):
        connection.execute(statement, (number,))
    projection = number | PROJECTION
    digests += connection.execute("SELECT digest FROM blobs WHERE session = ?", (projection,)).fetchall()
    connection.execute("DELETE FROM blobs WHERE session = ?", (projection,))
    connection.execute("INSERT INTO debris (session) VALUES (?)", (projection,))
    group.orphans.update(cast("bytes", digest) for (digest,) in digests)
    group.deleted.append(number)
    audit.write(connection, entry)


def reseal(group: Group, anew: Callable[[bytes, str], bytes]) -> int:
    count = 0
    with group.connection as connection:
        for table, id, column in (("sessions", "session_id", "secrets"), ("records", "id", "secret")):
            rows = connection.execute(f"SELECT number, {id}, {column} FROM {table} WHERE {column} IS NOT NULL")
            for number, about, sealed in cast("list[tuple[int, str, bytes]]", rows.fetchall()):
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE number = ?", (anew(sealed, about), number))
                count += 1
        rows = connection.execute(
            "SELECT inputs.number, session_id, body FROM inputs JOIN sessions ON sessions.number = inputs.session"
        )
        for number, about, body in cast("list[tuple[int, str, bytes]]", rows.fetchall()):
            if not body.startswith(b"{"):
                connection.execute("UPDATE inputs SET body = ? WHERE number = ?", (anew(body, about), number))
                count += 1
    return count


def _advance(group: Group, step: Append) -> int:
    """Updates the session's row if its head is the expected one. Returns the time of the append."""
    if group.advanced and (at := group.advanced.pop((step.session, step.expected), None)) is not None:
        return at
    changed = _changed_columns(step.changes)
    rows = group.connection.execute(
        _advance_sql(group.greatest, tuple(changed)),
        (
            step.expected + len(step.events),
            step.frames[-1].number if step.frames else 0,
            step.at,
            step.session,
            step.epoch,
            step.expected,
            step.frames[0].number if step.frames else NO_FRAME,
            *changed.values(),
        ),
    ).fetchall()
    if not rows:
        raise _refusal(group, step)
    return cast("int", rows[0][0])


@cache
def _advance_sql(greatest: str, changed: tuple[str, ...]) -> str:
    more = "".join(f", {name} = ?{number}" for number, name in enumerate(changed, 8))
    return (
        f"UPDATE sessions SET last_sequence = ?1, last_frame = {greatest}(last_frame, ?2), "
        f"last_at = {greatest}(last_at, ?3), updated_at = {greatest}(updated_at, last_at, ?3){more} "
        "WHERE number = ?4 AND epoch = ?5 AND last_sequence = ?6 AND last_frame < ?7 RETURNING last_at"
    )


def _changed_columns(changes: SessionChanges | None) -> dict[str, str | int | float | bytes | None]:
    if changes is None:
        return {}
    values = ((name, getattr(changes, name)) for name in changes.__struct_fields__)
    return {name: column(value) for name, value in values if value is not UNSET}


def _refusal(group: Group, step: Append) -> Exception:
    row = group.connection.execute(
        "SELECT epoch, last_sequence, last_frame FROM sessions WHERE number = ?", (step.session,)
    ).fetchone()
    if row is None:
        return no_such_session(step.session)
    epoch, head, frame = cast("tuple[int, int, int]", row)
    if epoch != step.epoch:
        return LogFenced(f"The session was taken over (epoch {epoch}, not {step.epoch}). Nothing was written.", head)
    if head != step.expected:
        return LogConflict(f"The log's head is {head}, not {step.expected}. Nothing was written.", head)
    return LogConflict(f"Frames up to {frame} are in the log already. Nothing was written.", head)


def _check_numbered(events: Sequence[NewEvent], last: int) -> None:
    if [event.sequence for event in events] != list(range(last + 1, last + len(events) + 1)):
        raise ValueError(f"the events after {last} are not numbered {last + 1}, {last + 2}, and so on")


def _check_rising(frames: Sequence[NewFrame]) -> None:
    numbers = [frame.number for frame in frames]
    if not all(map(lt, numbers, numbers[1:])):
        raise ValueError("the frames' numbers do not rise")


def _check_inputs(group: Group, session: int, inputs: Sequence[Input]) -> None:
    item_ids = [waiting.item_id for waiting in inputs]
    for place, item_id in enumerate(item_ids):
        queued = "SELECT 1 FROM inputs WHERE session = ? AND item_id = ?"
        if item_id in item_ids[:place] or group.connection.execute(queued, (session, item_id)).fetchone():
            raise Conflict(f"A message with the item id {item_id!r} waits already.")


def _count_inputs(group: Group, session: int) -> None:
    group.connection.execute(
        "UPDATE sessions SET queued_inputs = (SELECT count(*) FROM inputs WHERE session = ?1) WHERE number = ?1",
        (session,),
    )


@cache
def _insert_session_sql() -> str:
    columns = SESSION_COLUMNS[1:]
    return f"INSERT INTO sessions ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) RETURNING number"
