"""Records in the database: changed by the log's one writer, read by its readers."""

from typing import assert_never, cast

from msgspec import UNSET

from everyagent.errors import RecordChanged, RecordExists, RecordNotFound
from everyagent.log.audit import AuditEntry
from everyagent.log.records import Change, Delete, Insert, Record, RecordQuery, Replace
from everyagent.log.sql import audit
from everyagent.log.sql.connection import Connection, Row, Value
from everyagent.log.sql.group import Group

_SELECT = (
    "SELECT number, kind, id, parent, key, version, created_at, updated_at, archived_at, body, secret, workspace "
    "FROM records "
)


def find(connection: Connection, kind: str, id: str) -> Record:
    row = connection.execute(_SELECT + "WHERE kind = ? AND id = ?", (kind, id)).fetchone()
    if row is None:
        raise RecordNotFound(f"There is no {kind.replace('_', ' ')} {id!r}.", kind=kind, id=id)
    return _record(row)


def page(connection: Connection, query: RecordQuery) -> list[Record]:
    conditions, values = ["kind = ?"], cast("list[Value]", [query.kind])

    def narrow(condition: str, *given: Value) -> None:
        conditions.append(condition)
        values.extend(given)

    if query.parent is not None:
        narrow("parent = ?", query.parent)
    if query.ids is not None:
        narrow(f"id IN ({', '.join('?' * len(query.ids))})", *query.ids)
    if query.after is not None:
        narrow("number < ?" if query.order == "desc" else "number > ?", query.after)
    if not query.archived:
        narrow("archived_at IS NULL")
    if query.since is not None:
        narrow("created_at >= ?", query.since)
    if query.until is not None:
        narrow("created_at <= ?", query.until)
    if query.workspace is not None:
        narrow("workspace = ?", query.workspace)
    statement = f"{_SELECT}WHERE {' AND '.join(conditions)} ORDER BY number {query.order} LIMIT ?"
    return [_record(row) for row in connection.execute(statement, (*values, query.limit + 1)).fetchall()]


def count(connection: Connection, kind: str, parent: str) -> int:
    row = connection.execute(
        "SELECT count(*) FROM records WHERE kind = ? AND parent = ? AND archived_at IS NULL", (kind, parent)
    ).fetchone()
    return cast("tuple[int]", row)[0]


def write(group: Group, changes: tuple[Change, ...], entry: AuditEntry | None) -> list[Record]:
    connection = group.connection
    with connection:
        written = [record for change in changes if (record := _apply(group, change)) is not None]
        audit.write(connection, entry)
        return written


def _apply(group: Group, change: Change) -> Record | None:
    match change:
        case Insert():
            return _insert(group, change)
        case Replace():
            return _replace(group, change)
        case Delete():
            _delete(group, find(group.connection, change.kind, change.id))
            return None
        case _:
            assert_never(change)


def _insert(group: Group, new: Insert) -> Record:
    connection = group.connection
    if connection.execute("SELECT 1 FROM records WHERE kind = ? AND id = ?", (new.kind, new.id)).fetchone():
        raise RecordExists(f"There is a {new.kind.replace('_', ' ')} {new.id!r} already.", kind=new.kind)
    workspace = _workspace(connection, new)
    _check_key(connection, workspace, new.kind, new.parent, new.key, 0)
    row = connection.execute(
        "INSERT INTO records (kind, id, parent, key, version, created_at, updated_at, body, secret, workspace) "
        "VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?) RETURNING number",
        (new.kind, new.id, new.parent, new.key, group.now, group.now, new.body, new.secret, workspace),
    ).fetchone()
    (number,) = cast("tuple[int]", row)
    for upload in new.uploads:
        group.blobs.adopt(upload.path, upload.digest)
    for digest in new.blobs:
        if not connection.execute("SELECT 1 FROM blobs WHERE digest = ?", (digest,)).fetchone():
            raise RecordNotFound("The content is gone: it was deleted.")
    for digest in (*(upload.digest for upload in new.uploads), *new.blobs):
        connection.execute(
            "INSERT INTO blobs (session, digest) VALUES (?, ?) ON CONFLICT DO NOTHING", (-number, digest)
        )
    return find(connection, new.kind, new.id)


def _replace(group: Group, new: Replace) -> Record:
    connection = group.connection
    old = find(connection, new.kind, new.id)
    if old.version != new.version:
        raise RecordChanged(
            f"The {new.kind.replace('_', ' ')} {new.id!r} is at version {old.version}, not {new.version}: it was "
            "changed meanwhile. Nothing was written; read it again, then retry.",
            version=old.version,
        )
    key = old.key if new.key is UNSET else new.key
    _check_key(connection, old.workspace, old.kind, old.parent, key, old.number)
    archived_at = old.archived_at
    if new.archived is not UNSET:
        archived_at = (old.archived_at or group.now) if new.archived else None
    connection.execute(
        "UPDATE records SET key = ?, version = version + 1, updated_at = ?, archived_at = ?, body = ?, secret = ? "
        "WHERE number = ?",
        (key, group.now, archived_at, new.body, old.secret if new.secret is UNSET else new.secret, old.number),
    )
    return find(connection, new.kind, new.id)


def _delete(group: Group, record: Record) -> None:
    connection = group.connection
    for row in connection.execute(_SELECT + "WHERE parent = ?", (record.id,)).fetchall():
        _delete(group, _record(row))
    digests = connection.execute("SELECT digest FROM blobs WHERE session = ?", (-record.number,)).fetchall()
    group.orphans.update(cast("bytes", digest) for (digest,) in digests)
    connection.execute("DELETE FROM blobs WHERE session = ?", (-record.number,))
    connection.execute("DELETE FROM records WHERE number = ?", (record.number,))


def _workspace(connection: Connection, new: Insert) -> str:
    if not new.parent:
        return new.workspace
    row = connection.execute(
        "SELECT coalesce((SELECT workspace FROM records WHERE id = ?1 LIMIT 1), "
        "(SELECT workspace FROM sessions WHERE session_id = ?1), ?2)",
        (new.parent, new.workspace),
    ).fetchone()
    return cast("tuple[str]", row)[0]


def _check_key(connection: Connection, workspace: str, kind: str, parent: str, key: str | None, number: int) -> None:
    if key is None:
        return
    taken = connection.execute(
        "SELECT id FROM records WHERE workspace = ? AND kind = ? AND parent = ? AND key = ? AND number != ?",
        (workspace, kind, parent, key, number),
    ).fetchone()
    if taken:
        raise RecordExists(f"Another {kind.replace('_', ' ')} is {key!r} already: {taken[0]}.", kind=kind, key=key)


def _record(row: Row) -> Record:
    number, kind, id, parent, key, version, created_at, updated_at, archived_at, body, secret, workspace = cast(
        "tuple[int, str, str, str, str | None, int, int, int, int | None, bytes, bytes | None, str]", row
    )
    return Record(
        number=number,
        kind=kind,
        id=id,
        parent=parent,
        key=key,
        version=version,
        created_at=created_at,
        updated_at=updated_at,
        archived_at=archived_at,
        body=body,
        secret=secret,
        workspace=workspace,
    )
