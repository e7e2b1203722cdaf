"""The nodes of a cluster in PostgreSQL: leases on the database's clock, and claims of sessions."""

import asyncio
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar, cast

import msgspec
import psycopg
from msgspec import Struct

from everyagent.errors import OwnedElsewhere, StoreUnavailable
from everyagent.log.ownership import Beat, Home, NodeInfo, Owner
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.database import TOKEN_LENGTH, Database, application
from everyagent.log.session_record import SessionRecord
from everyagent.log.sql.group import Group
from everyagent.log.sql.rows import SELECT_SESSION, no_such_session, session_record

#: The condition for sessions that no living node owns.
NO_OWNER = "(owner IS NULL OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = sessions.owner))"

#: Followed by the token of its `Database`.
_PREFIX = "node_"

T = TypeVar("T")


class _Place(Struct):
    """The part of a session's configuration that says where its directory is."""

    directory: str = ""
    node: str | None = None


class NodeAddress:
    """`url` is where other nodes reach this one, `name` is for people; a key has to be that of the other nodes."""

    def __init__(self, *, name: str, url: str, version: str, lease_seconds: float, key_check: bytes) -> None:
        self.name = name
        self.url = url
        self.version = version
        self.lease_seconds = lease_seconds
        self.key_check = key_check


class PostgresMembership:
    """A `Membership` with a connection of its own, so that heartbeats wait for no commit."""

    def __init__(self, database: Database, address: NodeAddress) -> None:
        self.node_id = ""
        self.name = address.name
        self._database = database
        self._address = address
        self._connection: Connection | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="node")

    async def join(self) -> None:
        self.node_id = await self._run(self._join)

    async def beat(self, *, remove_expired: bool, live_sessions: int, lag: int) -> Beat:
        return await self._run(lambda connection: self._beat(connection, remove_expired, live_sessions, lag))

    async def leave(self) -> None:
        await self._run(
            lambda connection: connection.execute("DELETE FROM nodes WHERE id = ?", (self.node_id,)) and None
        )

    async def owner(self, session_id: str) -> Owner | None:
        def read(connection: Connection) -> Owner | None:
            row = connection.execute(
                "SELECT nodes.id, nodes.url FROM sessions JOIN nodes ON nodes.id = sessions.owner WHERE session_id = ?",
                (session_id,),
            ).fetchone()
            return None if row is None else Owner(*cast("tuple[str, str]", row))

        return await self._run(read)

    async def home(self, session_id: str) -> Home | None:
        def read(connection: Connection) -> Home | None:
            # PostgreSQL's json refuses text that a configuration may have, such as an escaped NUL.
            row = connection.execute(
                f"SELECT config FROM sessions WHERE session_id = ? AND {NO_OWNER}", (session_id,)
            ).fetchone()
            place = msgspec.json.decode(cast("tuple[bytes]", row)[0], type=_Place) if row else _Place()
            if place.node in (None, self.name):
                return None
            row = connection.execute(
                "SELECT id, url FROM nodes WHERE name = ? ORDER BY lease_until DESC LIMIT 1", (place.node,)
            ).fetchone()
            return None if row is None else Home(place.directory, Owner(*cast("tuple[str, str]", row)))

        return await self._run(read)

    async def without_owner(self, session_ids: Iterable[str]) -> set[str]:
        wanted = list(session_ids)

        def read(connection: Connection) -> set[str]:
            statement = f"SELECT session_id FROM sessions WHERE session_id = ANY($1::text[]) AND {NO_OWNER}"
            return {cast("str", row[0]) for row in connection.raw.execute(statement, (wanted,)).fetchall()}

        return await self._run(read)

    def close(self) -> None:
        self._thread.shutdown()
        if self._connection is not None:
            self._connection.close()

    async def _run(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._attempt, work)

    def _attempt(self, work: Callable[[Connection], T]) -> T:
        if self._connection is None or self._connection.lost:
            self._connection = self._database.connect()
        try:
            return work(self._connection)
        except psycopg.Error as error:
            self._connection.close()
            raise self._database.away(str(error).strip() or "connection lost") from error

    def _join(self, connection: Connection) -> str:
        address, node_id = self._address, f"{_PREFIX}{self._database.token}{uuid.uuid4().hex[:16]}"
        with connection:
            connection.execute("INSERT INTO cluster VALUES (1, ?) ON CONFLICT (one) DO NOTHING", (address.key_check,))
            if connection.execute("SELECT key_check FROM cluster").fetchone() != (address.key_check,):
                raise StoreUnavailable(
                    f"The nodes on the PostgreSQL store {self._database.name} have another vault key than this one. "
                    "Give all of them the same, with --vault-key-file, or copy the file vault.key from the data folder "
                    "of one of them to this node's.",
                )
            # The process that was reached there before is dead.
            connection.execute("DELETE FROM nodes WHERE url = ?", (address.url,))
            connection.execute(
                "INSERT INTO nodes VALUES (?, ?, ?, ?, clock_timestamp(), "
                "clock_timestamp() + ?::double precision * interval '1 second', 0)",
                (node_id, address.name, address.url, address.version, address.lease_seconds),
            )
        return node_id

    def _beat(self, connection: Connection, remove_expired: bool, live_sessions: int, lag: int) -> Beat:
        """Each statement is a transaction of its own: a node that is paused between two of them holds no lock."""
        renewed = connection.execute(
            "UPDATE nodes SET lease_until = clock_timestamp() + ?::double precision * interval '1 second', "
            "live_sessions = ?, lag = ? WHERE id = ? RETURNING 1",
            (self._address.lease_seconds, live_sessions, lag, self.node_id),
        ).fetchone()
        removed: list[str] = []
        if renewed and remove_expired:
            rows = connection.execute(
                "DELETE FROM nodes WHERE lease_until < clock_timestamp() AND id <> ? RETURNING id", (self.node_id,)
            ).fetchall()
            removed = [cast("str", row[0]) for row in rows]
        for node_id in removed:
            _cut_off(connection, node_id)
        nodes = all_nodes(connection)
        return Beat(renewed is not None, removed, nodes, database_time(connection))


async def read_time(url: str) -> int:
    """The time of a database before anything else is done with it, in microseconds since 1970."""

    def read() -> int:
        database = Database(url)
        connection = database.connect()
        try:
            return database_time(connection)
        except psycopg.Error as error:
            raise database.away(str(error).strip() or "connection lost") from error
        finally:
            connection.close()

    return await asyncio.get_running_loop().run_in_executor(None, read)


def database_time(connection: Connection) -> int:
    """In microseconds since 1970."""
    row = connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint").fetchone()
    return cast("tuple[int]", row)[0]


def _cut_off(connection: Connection, node_id: str) -> None:
    """Ends the connections of a removed node: if it stands still in the middle of a commit, all others wait for it."""
    token = node_id.removeprefix(_PREFIX)[:TOKEN_LENGTH]
    with suppress(psycopg.errors.InsufficientPrivilege):  # it has another role
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ?", (application(token),)
        )


def all_nodes(connection: Connection) -> list[NodeInfo]:
    rows = connection.execute(
        "SELECT id, name, url, version, (extract(epoch FROM started_at) * 1e6)::bigint, "
        "extract(epoch FROM lease_until - clock_timestamp())::double precision, live_sessions, lag "
        "FROM nodes ORDER BY started_at"
    ).fetchall()
    return [
        NodeInfo(
            node_id=node_id,
            name=name,
            url=url,
            version=version,
            started_at=started_at,
            lease_seconds=lease_seconds,
            live_sessions=live_sessions,
            lag=lag,
        )
        for node_id, name, url, version, started_at, lease_seconds, live_sessions, lag in cast(
            "list[tuple[str, str, str, str, int, float, int, int]]", rows
        )
    ]


def claim(group: Group, session_id: str, node_id: str) -> SessionRecord:
    """Like `writes.claim`, for a session that no other living node owns. Raises `OwnedElsewhere`."""
    connection = group.connection
    connection.execute(
        f"UPDATE sessions SET epoch = epoch + 1, owner = ?1 WHERE session_id = ?2 AND (owner = ?1 OR {NO_OWNER}) "
        "AND EXISTS (SELECT 1 FROM nodes WHERE id = ?1)",
        (node_id, session_id),
    )
    row = connection.execute(SELECT_SESSION + "WHERE session_id = ?", (session_id,)).fetchone()
    if row is None:
        raise no_such_session(session_id)
    owned = connection.execute("SELECT 1 FROM sessions WHERE session_id = ? AND owner = ?", (session_id, node_id))
    if owned.fetchone() is None:
        raise OwnedElsewhere(f"Another node owns the session {session_id!r}. Nothing was changed; try again.")
    return session_record(row)


def own(group: Group, record: SessionRecord, node_id: str) -> SessionRecord:
    """Makes this node the owner of a session that it created in the same transaction."""
    group.connection.execute("UPDATE sessions SET owner = ? WHERE number = ?", (node_id, record.number))
    return record


def release(group: Group, number: int, node_id: str) -> None:
    """From now on, any node may claim the session."""
    group.connection.execute("UPDATE sessions SET owner = NULL WHERE number = ? AND owner = ?", (number, node_id))
