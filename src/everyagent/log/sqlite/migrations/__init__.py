"""Brings a database up to date: the numbered scripts of this folder, each in one transaction."""

from pathlib import Path
from typing import cast

from everyagent.errors import Unavailable
from everyagent.log.sqlite.connection import Connection


def migrate(connection: Connection) -> None:
    """`PRAGMA user_version` is the number of scripts that have run. A database newer than this code is refused."""
    scripts = _scripts()
    (version,) = cast("tuple[int]", connection.execute("PRAGMA user_version").fetchone())
    if version > len(scripts):
        raise Unavailable(
            f"The database {connection.filename} was written by a newer everyagent (its version is {version}, "
            f"this program knows {len(scripts)}). Nothing was changed. Update everyagent, or use another data folder.",
            databaseVersion=version,
            knownVersion=len(scripts),
        )
    for number, script in enumerate(scripts[version:], version + 1):
        with connection:
            connection.execute(script.read_text("utf-8")).fetchall()
            connection.execute(f"PRAGMA user_version = {number}").fetchall()


def known_version() -> int:
    return len(_scripts())


def _scripts() -> list[Path]:
    return sorted(Path(__file__).parent.glob("*.sql"))
