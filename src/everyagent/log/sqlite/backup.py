"""Backups of a log in SQLite: one archive with the database and the blobs, made while a daemon uses them.

Called by `everyagent backup` and `everyagent restore`. Blocking.
"""

import os
import shutil
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import cast

import apsw

from everyagent.log.sqlite.database import Database

DATABASE, BLOBS, KEY = "everyagent.db", "blobs", "vault.key"


def take(folder: Path, copy: Path) -> None:
    """Copy the log of a data folder into an empty folder, as it is at one moment.

    Blobs are copied before the database, so that none is missed that is deleted meanwhile, and those that are new in
    the database after it.
    """
    (copy / BLOBS).mkdir(mode=0o700)
    _take_blobs(folder, copy)
    source, target = Database(folder / DATABASE).reader(), apsw.Connection(str(copy / DATABASE))
    try:
        with target.backup("main", cast("apsw.Connection", source), "main") as running:
            running.step()
    finally:
        target.close()
        source.close()
    _take_blobs(folder, copy)
    copied = Database(copy / DATABASE).reader()
    try:
        referred = {cast("bytes", digest).hex() for (digest,) in copied.execute("SELECT digest FROM blobs").fetchall()}
    finally:
        copied.close()
    for path in (copy / BLOBS).iterdir():
        if path.name not in referred:
            path.unlink()


def pack(copy: Path, archive: Path) -> None:
    """Write an archive that only its owner can read. It is compressed if its name ends in `gz`."""
    part = archive.with_name(archive.name + ".part")
    compressed = archive.suffix in (".gz", ".tgz")
    try:
        with (
            open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file,
            tarfile.open(fileobj=file, mode="w:gz" if compressed else "w") as tar,
        ):
            for path in (copy / DATABASE, copy / KEY, *sorted((copy / BLOBS).iterdir())):
                if path.exists():
                    tar.add(path, str(path.relative_to(copy)))
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(archive)
    finally:
        part.unlink(missing_ok=True)


def unpack(archive: Path, copy: Path) -> None:
    """The opposite of `pack`. Raises `tarfile.TarError` or `OSError`; other files than those of a log are left out."""
    (copy / BLOBS).mkdir(mode=0o700)
    with tarfile.open(archive) as tar:
        for member in tar:
            folder, _, name = member.name.rpartition("/")
            if member.isfile() and (member.name in (DATABASE, KEY) or (folder == BLOBS and name.isalnum())):
                member.mode = 0o600
                tar.extract(member, copy, filter="data")


def place(copy: Path, folder: Path) -> None:
    """Move an unpacked log into a data folder that has none. The database comes last: with it the log is there."""
    (folder / BLOBS).mkdir(mode=0o700, exist_ok=True)
    for path in (copy / BLOBS).iterdir():
        path.replace(folder / BLOBS / path.name)
    if (copy / KEY).exists() and not (folder / KEY).exists():
        (copy / KEY).replace(folder / KEY)
    (copy / DATABASE).replace(folder / DATABASE)


def _take_blobs(folder: Path, copy: Path) -> None:
    for path in (folder / BLOBS).iterdir():
        target = copy / BLOBS / path.name
        if path.suffix or target.exists():  # a file with a suffix is not complete
            continue
        with suppress(FileNotFoundError):
            try:
                os.link(path, target)
            except FileNotFoundError:
                raise
            except OSError:  # on another disk
                shutil.copyfile(path, target)
