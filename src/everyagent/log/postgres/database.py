"""Connections to PostgreSQL, set up by role, and the translation of their errors."""

import time
import uuid
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import tuple_row

from everyagent.errors import CommitFailed, EveryagentError, StorageFull, StoreUnavailable, Unavailable
from everyagent.log.postgres.connection import Connection

#: Seconds for which no new connection is tried after one failed.
PAUSE_SECONDS: Final = 0.25
FULL = "The disk of the PostgreSQL server is full, so nothing was written. The daemon goes on when it has space."
TOKEN_LENGTH: Final = 16
#: A peer that vanished is noticed within about 11 seconds, by both sides.
_CLIENT = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "target_session_attrs": "read-write",
}
#: A server that acknowledges commits before they are on its disk is overruled. It rolls back the transaction of a
#: daemon that stands still, because others wait for its locks.
_SERVER = (
    "SET idle_in_transaction_session_timeout = '5s'; "
    "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; "
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';"
)


class Database:
    """`url` is a PostgreSQL connection string. What it sets itself is kept."""

    def __init__(self, url: str) -> None:
        #: The connections of this object have it in their name.
        self.token = uuid.uuid4().hex[:TOKEN_LENGTH]
        given = {"application_name": application(self.token), **_CLIENT, **_given(url)}
        self._conninfo = make_conninfo("", **given)
        self.name = _without_password(url)
        self._failed_at = float("-inf")

    def connect(self) -> Connection:
        """`StoreUnavailable` at once for a moment after a connection failed, so that callers do not queue up."""
        if time.monotonic() - self._failed_at < PAUSE_SECONDS:
            raise self.away("it did not accept a connection a moment ago")
        try:
            raw = psycopg.connect(
                self._conninfo, autocommit=True, cursor_factory=psycopg.RawCursor, row_factory=tuple_row
            )
        except psycopg.Error as error:
            self._failed_at = time.monotonic()
            raise self.away(_reason(error)) from error
        try:
            raw.execute(_SERVER)
        except psycopg.Error as error:
            raw.close()
            raise self.away(_reason(error)) from error
        return Connection(raw)

    def away(self, reason: str) -> StoreUnavailable:
        return StoreUnavailable(
            f"The PostgreSQL store {self.name} cannot be reached ({reason}). Nothing was written; try again."
        )

    def read_failure(self, error: psycopg.Error) -> EveryagentError:
        return Unavailable(f"The PostgreSQL store {self.name} could not be read ({_reason(error)}). Try again.")

    def commit_failure(self, error: Exception) -> Exception:
        """The error for the caller of a write that failed. Exceptions of other kinds do not change."""
        if isinstance(error, psycopg.errors.DiskFull):
            return StorageFull(FULL)
        if isinstance(error, (psycopg.Error, OSError)):
            return CommitFailed(
                f"The log could not be written ({_reason(error)}). Nothing was acknowledged; try again."
            )
        return error


def application(token: str) -> str:
    return f"everyagent {token}"


def _given(url: str) -> dict[str, str]:
    try:
        return {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    except psycopg.Error as error:
        raise StoreUnavailable(f"The address of the store is not one that PostgreSQL understands: {error}") from None


def _without_password(url: str) -> str:
    known = {
        name: value for name, value in _given(url).items() if name in ("host", "hostaddr", "port", "dbname", "user")
    }
    place = f"{known.get('host') or known.get('hostaddr') or 'localhost'}:{known.get('port', '5432')}"
    return f"postgresql://{known['user'] + '@' if 'user' in known else ''}{place}/{known.get('dbname', '')}"


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
