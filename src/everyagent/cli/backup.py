"""`everyagent backup` and `everyagent restore`: the log of this machine's daemon as one checked file."""

import shutil
import tarfile
import tempfile
import zlib
from gzip import BadGzipFile
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec import structs
from rich import filesize

from everyagent import config
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.cli.output import say
from everyagent.cli.progress import waiting


def backup(
    file: Path,
    /,
    *,
    with_key: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    force: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    data_dir: Path | None = None,
) -> None:
    """Back up all sessions, files and keys into one file, and check it. The daemon may run.

    Agents that are installed, what agents keep in their own folders, checkpoints and worktrees are not in it.

    Parameters
    ----------
    file
        The file to write; it is compressed if its name ends in gz.
    with_key
        Put the key of stored secrets into it. Whoever has the file can then read them.
    force
        Replace the file if it exists.
    data_dir
        The data folder. [env: EVERYAGENT_DATA_DIR]
    """
    from everyagent.log.sqlite import backup as backups
    from everyagent.vault_key import given_by, vault_file

    settings = _sqlite(data_dir)
    if file.exists() and not force:
        raise CliFailure(f"{file} exists already, and was not changed. Pass --force to replace it.")
    if not file.resolve().parent.is_dir():
        raise CliFailure(f"There is no folder {file.resolve().parent}. Create it, or write to another one.")
    if not (settings.data_dir / backups.DATABASE).exists():
        raise CliFailure(f"There is no log in {settings.data_dir}. Choose another folder with --data-dir.")
    own_key = given_by(settings) in (None, "vault-key-file")
    with tempfile.TemporaryDirectory(dir=file.resolve().parent, prefix=".everyagent-backup-") as copy:
        with waiting("Copying"):
            backups.take(settings.data_dir, Path(copy))
        summary = _checked(settings, Path(copy))
        if with_key and own_key:
            shutil.copyfile(vault_file(settings), Path(copy) / backups.KEY)
        with waiting(f"Writing {file}"):
            backups.pack(Path(copy), file)
    say(f"Wrote {file} ({filesize.decimal(file.stat().st_size)}): {summary}.")
    if not (with_key and own_key):
        where = vault_file(settings) if own_key else f"the setting {given_by(settings)}"
        say(f"The key of stored secrets is not in it. Keep a copy of {where} elsewhere: a restored log needs it.")


def restore(file: Path, /, *, data_dir: Path | None = None) -> None:
    """Put a backup into a data folder that has no log yet, after it was checked. Stop the daemon first.

    Parameters
    ----------
    file
        The file that `everyagent backup` wrote.
    data_dir
        The data folder. [env: EVERYAGENT_DATA_DIR]
    """
    from everyagent.log.sqlite import backup as backups
    from everyagent.log.sqlite.lock import FolderLock
    from everyagent.private_files import private_folder
    from everyagent.vault_key import given_by

    settings = _sqlite(data_dir)
    private_folder(settings.data_dir)
    lock = FolderLock(settings.data_dir)
    try:
        there = settings.data_dir / backups.DATABASE
        if there.exists():
            raise CliFailure(
                f"{there} exists already, so nothing was changed. Move it away, with the folders blobs and checkpoints."
            )
        if (old := settings.data_dir / "checkpoints").is_dir() and any(old.iterdir()):
            raise CliFailure(f"{old} has files of another log's sessions, so nothing was changed. Move it away.")
        with tempfile.TemporaryDirectory(dir=settings.data_dir, prefix="restoring-") as copy:
            try:
                with waiting(f"Reading {file}"):
                    backups.unpack(file, Path(copy))
            except (tarfile.TarError, EOFError, zlib.error, BadGzipFile, IsADirectoryError) as error:
                raise CliFailure(f"{file} is no backup, or it is damaged. Nothing was changed.") from error
            except FileNotFoundError as error:
                raise CliFailure(f"There is no file {error.filename}.", ExitCode.USAGE) from error
            if not (Path(copy) / backups.DATABASE).exists():
                raise CliFailure(f"{file} is no backup: there is no log in it. Nothing was changed.")
            summary = _checked(settings, Path(copy))
            backups.place(Path(copy), settings.data_dir)
    finally:
        lock.release()
    say(f"Restored {summary} to {settings.data_dir}.")
    if given_by(settings) is None and not (settings.data_dir / backups.KEY).exists():
        key = settings.data_dir / backups.KEY
        say(f"The key of stored secrets was not in it. Put your copy to {key} before you start the daemon.", "yellow")


def _sqlite(data_dir: Path | None) -> config.Settings:
    settings = config.load({"data_dir": data_dir})
    if settings.store is not None:
        raise CliFailure("The log is in PostgreSQL: back up that database. docs/scale.md says how.", ExitCode.USAGE)
    return settings


def _checked(settings: config.Settings, copy: Path) -> str:
    """A summary of the log in a folder. Raises if something in it is damaged or missing."""
    from everyagent.log.sql.verify import verify
    from everyagent.store import reading

    sessions = events = blobs = 0
    with waiting("Checking"), reading(structs.replace(settings, data_dir=copy)) as (connection, open_blob):
        for checked in verify(connection, open_blob):
            if checked.problems:
                raise CliFailure(f"The log is damaged: {checked.session_id or 'blobs'}: {checked.problems[0]}.")
            if checked.session_id is None:
                blobs = checked.amount
            else:
                sessions, events = sessions + 1, events + checked.amount
    return f"{sessions} sessions, {events} events and {blobs} blobs, all whole"
