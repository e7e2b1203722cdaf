"""Local checks of `everyagent doctor`: versions, data folder, disk, database, token."""

import platform
import shutil
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal

from msgspec import Struct

from everyagent import __version__
from everyagent.config import Settings, config_file

GIB = 1 << 30
#: Databases up to this size get a full page check; larger ones would take too long.
THOROUGH = 512 << 20


class Finding(Struct, frozen=True, omit_defaults=True):
    """The result of one check. `advice` says what the user can do about it."""

    state: Literal["ok", "note", "bad"]
    what: str
    found: str
    advice: str | None = None


def machine(settings: Settings) -> Iterator[Finding]:
    yield Finding("ok", "everyagent", f"{__version__} on Python {platform.python_version()}, {platform.platform()}")
    yield data_folder(settings.data_dir)
    yield disk(settings.data_dir)
    yield database(settings.data_dir / "everyagent.db")
    yield token(settings)


def settings(origins: Mapping[str, str]) -> Iterator[Finding]:
    given = [f"{name} by {origin}" for name, origin in origins.items() if origin != "default"]
    yield Finding("ok", "settings", "; ".join(given) or f"all default; {config_file()} can change them")


def data_folder(folder: Path) -> Finding:
    if not folder.exists():
        return Finding("ok", "data folder", f"{folder}, created at the first start")
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        return Finding("note", "data folder", f"{folder} is readable by other users", f"chmod 700 {folder}")
    return Finding("ok", "data folder", str(folder))


def disk(folder: Path) -> Finding:
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    found = f"{free / GIB:.1f} GiB free"
    if free < GIB // 10:
        return Finding("bad", "disk", found, "free some space: a full disk stops every session")
    return Finding("note" if free < GIB else "ok", "disk", found)


def database(path: Path) -> Finding:
    if not path.exists():
        return Finding("ok", "database", "none yet")
    size = path.stat().st_size
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            pragma = "quick_check(1)" if size < THOROUGH else "schema_version"
            (verdict,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    except sqlite3.Error as error:
        return Finding("bad", "database", f"{path} cannot be read: {error}", "restore it from a backup")
    if size < THOROUGH and verdict != "ok":
        return Finding("bad", "database", f"{path} is damaged: {verdict}", "restore it from a backup")
    return Finding("ok", "database", f"{size / (1 << 20):.1f} MiB, no damage found")


def token(settings: Settings) -> Finding:
    if settings.no_token:
        return Finding("note", "token", "none: every program on this machine has access", "remove the setting no-token")
    if settings.token:
        return Finding("ok", "token", "from the settings")
    file = settings.data_dir / "token"
    if not file.exists():
        return Finding("ok", "token", "none yet, created at the first start")
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        return Finding("note", "token", f"{file} is readable by other users", f"chmod 600 {file}")
    return Finding("ok", "token", str(file))
