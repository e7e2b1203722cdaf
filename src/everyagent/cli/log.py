"""`everyagent log`: checks the stored log, or copies it to another database."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from everyagent import config
from everyagent.cli.exit_codes import EPILOGUE, CliFailure
from everyagent.cli.output import err, say

app = App(name="log", help="Check the stored log, or copy it to another database.", help_epilogue=EPILOGUE)


@app.command
def verify(*, store: str | None = None, blobs: str | None = None, data_dir: Path | None = None) -> None:
    """Check every event: sequences without gaps, ids, and blobs by their digest. Exits with 1 if something is wrong.

    Only reads; the daemon may run.

    Parameters
    ----------
    store
        The PostgreSQL database of the log. [default: SQLite in the data folder] [env: EVERYAGENT_STORE]
    blobs
        Where the blobs are, as for serve. [env: EVERYAGENT_BLOBS]
    data_dir
        The data folder. [env: EVERYAGENT_DATA_DIR]
    """
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from everyagent.log.sql.verify import verify as check
    from everyagent.store import reading

    settings = config.load({"store": store, "blobs": blobs, "data_dir": data_dir})
    sessions = events = blob_count = wrong = 0
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with reading(settings) as (connection, open_blob):
        row = connection.execute("SELECT count(*) FROM sessions").fetchone()
        with Progress(*columns, console=err(), transient=True, disable=not err().is_terminal) as progress:
            task = progress.add_task("sessions", total=int(row[0] or 0) if row else 0)
            for checked in check(connection, open_blob):
                wrong += len(checked.problems)
                for problem in checked.problems:
                    progress.console.print(f"{checked.session_id or 'blobs'}: {problem}", markup=False, soft_wrap=True)
                if checked.session_id is None:
                    blob_count = checked.amount
                else:
                    sessions, events = sessions + 1, events + checked.amount
                progress.advance(task)
    summary = f"{sessions} sessions, {events} events and {blob_count} blobs were checked"
    if wrong:
        raise CliFailure(f"{summary}: {wrong} problems. Put what is missing or damaged back from a backup.")
    say(f"{summary}. All are whole.")


@app.command
def copy(
    *,
    source: Annotated[str, Parameter(name="--from")],
    target: Annotated[str, Parameter(name="--to")],
    blobs: str | None = None,
) -> None:
    """Copy a log to an empty database: sessions, events, files, records, keys and the audit trail.

    Every row is read back and compared; the source is only read. While a daemon uses it, everything but its last
    changes is copied, and the command exits with 1: stop the daemon, and run the same command again. A copy that was
    interrupted goes on in the same way.

    Parameters
    ----------
    source
        sqlite:FOLDER, the data folder of a daemon, or postgresql://user@host/database.
    target
        The same for the new log. Nothing may be in it.
    blobs
        Where the blobs of a source in PostgreSQL are, as for serve. Those of the target are in its database.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from everyagent.log.copy.copying import copy_log
    from everyagent.store import copy_ends

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        copy_ends(source, target, blobs) as (read, written),
        Progress(*columns, console=err(), transient=True, disable=not err().is_terminal) as progress,
    ):
        task = progress.add_task("", total=None)
        done = copy_log(
            read,
            written,
            lambda part, done, total: progress.update(task, description=part, completed=done, total=total),
        )
        names = read.name, written.name
    amount = f"{done.sessions} sessions, {done.events} events and {done.blobs} blobs"
    if not done.finished:
        raise CliFailure(
            f"{amount} were copied, but a daemon uses {names[0]}, so that its last changes are missing. Stop the "
            "daemon, and run the same command again: it copies what has changed."
        )
    say(f"{amount} were copied to {names[1]} and compared. Give the new daemon the same vault key.")
