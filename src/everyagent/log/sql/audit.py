"""The audit trail in the database. Entries are written in the transaction of the effect that they report."""

from functools import partial
from typing import cast

import msgspec

from everyagent.log.audit import START, AuditEntry, AuditHead, AuditQuery, AuditRecord, chained
from everyagent.log.sql.connection import Connection, Value
from everyagent.log.sql.job_thread import JobThread
from everyagent.log.sql.jobs import Readers


class SqlAuditTrail:
    def __init__(self, writer: JobThread, readers: Readers[Connection]) -> None:
        self._writer = writer
        self._readers = readers

    async def keep(self, entry: AuditEntry) -> None:
        await self._writer.submit(lambda group: write(group.connection, entry))

    async def page(self, query: AuditQuery) -> list[AuditRecord]:
        return await self._readers.read(partial(page, query=query))

    async def head(self) -> AuditHead:
        return await self._readers.read(head)


def write(connection: Connection, entry: AuditEntry | None) -> None:
    if entry is None:
        return
    number, digest = head(connection)
    body = msgspec.json.encode(entry)
    digest = chained(digest, number + 1, body)
    connection.execute(
        "INSERT INTO audit (number, entry, digest) VALUES (?, ?, ?)", (number + 1, body.decode(), digest)
    )
    connection.execute(
        "INSERT INTO audit_head (one, number, digest) VALUES (1, ?, ?) "
        "ON CONFLICT (one) DO UPDATE SET number = excluded.number, digest = excluded.digest",
        (number + 1, digest),
    )


def head(connection: Connection) -> AuditHead:
    row = connection.execute("SELECT number, digest FROM audit_head").fetchone()
    return AuditHead(0, START) if row is None else AuditHead(*cast("tuple[int, bytes]", row))


def page(connection: Connection, query: AuditQuery) -> list[AuditRecord]:
    """At most `limit + 1`."""
    wanted: dict[str, Value] = {
        "workspace = ?": query.workspace,
        "session_id = ?": query.session_id,
        "key_id = ?": query.key_id,
        "number < ?": query.before,
        "number > ?": query.after,
    }
    given = {condition: value for condition, value in wanted.items() if value is not None}
    where = f"WHERE {' AND '.join(given)} " if given else ""
    order = "ASC" if query.after is not None else "DESC"
    rows = connection.execute(
        f"SELECT number, entry, digest FROM audit {where}ORDER BY number {order} LIMIT ?",
        (*given.values(), query.limit + 1),
    ).fetchall()
    return [
        AuditRecord(number, entry.encode(), digest)
        for number, entry, digest in cast("list[tuple[int, str, bytes]]", rows)
    ]


def spending(connection: Connection) -> dict[str, float]:
    rows = connection.execute("SELECT key_id, usd FROM spending").fetchall()
    return dict(cast("list[tuple[str, float]]", rows))
