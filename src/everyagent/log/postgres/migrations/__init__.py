"""Brings a database up to date: the numbered scripts of this folder, in one transaction."""

from pathlib import Path
from typing import LiteralString, cast

from everyagent.errors import StoreUnavailable
from everyagent.log.postgres.connection import Connection

#: The advisory lock under which one of many daemons that start at once migrates, and the others wait.
_LOCK = 0x65766572


def migrate(connection: Connection, name: str) -> None:
    """`everyagent_schema` holds the number of scripts that have run. A database newer than this code is refused."""
    scripts = _scripts()
    with connection:
        connection.execute("SELECT pg_advisory_xact_lock(?::int, hashtext(current_schema()))", (_LOCK,))
        connection.execute("CREATE TABLE IF NOT EXISTS everyagent_schema (version bigint NOT NULL)")
        row = connection.execute("SELECT version FROM everyagent_schema").fetchone()
        version = cast("int", row[0]) if row else 0
        if version > len(scripts):
            raise StoreUnavailable(
                f"The PostgreSQL store {name} was written by a newer everyagent (its version is {version}, this "
                f"program knows {len(scripts)}). Nothing was changed. Update everyagent, or use another database.",
                databaseVersion=version,
                knownVersion=len(scripts),
            )
        for script in scripts[version:]:
            connection.raw.execute(cast("LiteralString", script.read_text("utf-8")))
        if row is None:
            connection.execute("INSERT INTO everyagent_schema VALUES (?)", (len(scripts),))
        else:
            connection.execute("UPDATE everyagent_schema SET version = ?", (len(scripts),))


def known_version() -> int:
    return len(_scripts())


def _scripts() -> list[Path]:
    return sorted(Path(__file__).parent.glob("*.sql"))
